/*
 * Stations of an 802.11n cell that always have a packet for one receiver, in ns-3: goodput.
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 as published by the Free Software Foundation. It is distributed in the hope that it will be
 * useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR
 * PURPOSE. See the GNU General Public License for more details; <https://www.gnu.org/licenses/gpl-2.0.html>.
 *
 *   wlan --stations=5 --mcs=7 --aggregate=1 --seed=1
 *
 * One stream, 20 MHz at 5 GHz, guard interval of 800 ns, control frames at 24 Mbit/s, no errors, no capture: all
 * stations are as far from the receiver. Packets of 1500 B below LLC. The access category of best effort waits for
 * DIFS, as DCF does, instead of one slot longer. What a block acknowledgement did not confirm is sent again at once,
 * without a request for the acknowledgement. Prints one line of JSON over 2 s to 2 s + `seconds`.
 */
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <cstdio>
#include <string>

using namespace ns3;

namespace
{

const double FROM_S = 2;
const uint32_t PACKET_BYTES = 1500;
uint64_t g_packets = 0;

void
Receive(Ptr<const Packet>, const Address&)
{
    g_packets += Simulator::Now().GetSeconds() >= FROM_S;
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t stations = 5;
    uint32_t mcs = 7;
    bool aggregate = true;
    uint32_t seed = 1;
    double seconds = 10;
    CommandLine line(__FILE__);
    line.AddValue("stations", "how many, besides the receiver", stations);
    line.AddValue("mcs", "of data, 0 to 7", mcs);
    line.AddValue("aggregate", "send A-MPDUs", aggregate);
    line.AddValue("seed", "run number of the random streams", seed);
    line.AddValue("seconds", "measured time", seconds);
    line.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
    // A frame is given up after seven failures in all: a block acknowledgement does not reset the count.
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(1000000));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSlrc", UintegerValue(1000000));
    // By default a packet expires after half a second in the queue.
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));

    NodeContainer nodes(stations + 1);
    MobilityHelper mobility;
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t i = 0; i < stations; ++i)
    {
        const double angle = 2 * M_PI * i / stations;
        places->Add(Vector(std::cos(angle), std::sin(angle), 0));
    }
    mobility.SetPositionAllocator(places);
    mobility.Install(nodes);

    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211n);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("HtMcs" + std::to_string(mcs)),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "BE_MaxAmpduSize", UintegerValue(aggregate ? 65535 : 0));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    for (uint32_t i = 0; i <= stations; ++i)
    {
        Ptr<QosTxop> queue = DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac()->GetQosTxop(AC_BE);
        queue->SetAifsn(2);
        queue->SetMinCw(15);
        queue->SetMaxCw(1023);
        queue->SetTxopLimit(Seconds(0));
    }

    PacketSocketHelper sockets;
    sockets.Install(nodes);
    PacketSocketAddress address;
    address.SetPhysicalAddress(devices.Get(0)->GetAddress());
    address.SetProtocol(1);
    for (uint32_t i = 1; i <= stations; ++i)
    {
        address.SetSingleDevice(devices.Get(i)->GetIfIndex());
        Ptr<PacketSocketClient> client = CreateObject<PacketSocketClient>();
        client->SetAttribute("PacketSize", UintegerValue(PACKET_BYTES));
        client->SetAttribute("MaxPackets", UintegerValue(0));
        client->SetAttribute("Interval", TimeValue(Seconds(PACKET_BYTES * 8 * stations / 80e6)));
        client->SetRemote(address);
        client->SetStartTime(MicroSeconds(1000 + 137 * i));
        nodes.Get(i)->AddApplication(client);
    }
    Ptr<PacketSocketServer> server = CreateObject<PacketSocketServer>();
    address.SetSingleDevice(devices.Get(0)->GetIfIndex());
    server->SetLocal(address);
    server->TraceConnectWithoutContext("Rx", MakeCallback(&Receive));
    nodes.Get(0)->AddApplication(server);

    Simulator::Stop(Seconds(FROM_S + seconds));
    Simulator::Run();
    Simulator::Destroy();
    std::printf("{\"stations\": %u, \"mcs\": %u, \"aggregate\": %d, \"seed\": %u, \"goodput_bit_s\": %.0f}\n",
                stations, mcs, int(aggregate), seed, g_packets * PACKET_BYTES * 8 / seconds);
    return 0;
}
