/*
 * Clients upload to servers over one shared CSMA bus, in ns-3: the LAN of S. Shu's thesis on dAQM (Groningen, 2023).
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 as published by the Free Software Foundation. It is distributed in the hope that it will be
 * useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR
 * PURPOSE. See the GNU General Public License for more details; <https://www.gnu.org/licenses/gpl-2.0.html>.
 *
 *   lan --flow=http --queue=codel --device=100 --seed=1
 *
 * 100 clients and 5 servers on a bus of 2 Gbit/s and 1 ms, the queue disc on every station. Client i sends to server
 * i modulo 5 from second i on: packets of 1400 B at a constant rate, TCP CUBIC. Everybody knows everybody's hardware
 * address beforehand, unless --arp. Prints one line of JSON over the whole run. Queue length is that of the queue
 * discs, weighted by time, without the packets in the device. One-way delay is that of packets with payload, from
 * IP at the sender to IP at the receiver.
 */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/csma-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/neighbor-cache-helper.h"
#include "ns3/tcp-header.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const uint16_t PORT = 5000;

/** Packet-seconds in a queue disc. */
struct Level
{
    double area = 0;
    double since = 0;
    uint32_t now = 0;

    void Advance()
    {
        const double t = Simulator::Now().GetSeconds();
        area += now * (t - since);
        since = t;
    }

    void Change(uint32_t, uint32_t length)
    {
        Advance();
        now = length;
    }
};

/** When IP sent the packet. */
struct Sent : public Tag
{
    int64_t ns = 0;

    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Sent").SetParent<Tag>().AddConstructor<Sent>();
        return id;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return sizeof ns;
    }

    void Serialize(TagBuffer to) const override
    {
        to.WriteU64(uint64_t(ns));
    }

    void Deserialize(TagBuffer from) override
    {
        ns = int64_t(from.ReadU64());
    }

    void Print(std::ostream& to) const override
    {
        to << ns;
    }
};

/** One-way delay and bytes of packets with payload. */
struct Data
{
    double delay_s = 0;
    uint64_t packets = 0;
    uint64_t sent = 0;
    uint64_t ip_bytes = 0;

    static bool Carries(Ptr<const Packet> packet)
    {
        TcpHeader tcp;
        packet->PeekHeader(tcp);
        return packet->GetSize() > tcp.GetSerializedSize();
    }

    void Send(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
    {
        if (header.GetProtocol() == TcpL4Protocol::PROT_NUMBER && Carries(packet))
        {
            Sent tag;
            tag.ns = Simulator::Now().GetNanoSeconds();
            packet->AddPacketTag(tag);
            ++sent;
        }
    }

    void Receive(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
    {
        Sent tag;
        if (packet->PeekPacketTag(tag))
        {
            delay_s += 1e-9 * double(Simulator::Now().GetNanoSeconds() - tag.ns);
            ip_bytes += packet->GetSize() + header.GetSerializedSize();
            ++packets;
        }
    }
};

/** The study's parameters (its Table 2); false for a scheme that is not one of the five. */
bool
SetScheme(TrafficControlHelper& helper, const std::string& name)
{
    const QueueSizeValue size(QueueSize("2000p"));
    if (name == "pfifo")
    {
        helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
    }
    else if (name == "red")
    {
        helper.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MaxSize", size,
                                "MinTh", DoubleValue(500),
                                "MaxTh", DoubleValue(1000),
                                "QW", DoubleValue(0.002));
    }
    else if (name == "pie" || name == "pierate")
    {
        // The study gives a threshold of the departure rate, which acts only with the estimator of that rate.
        helper.SetRootQueueDisc("ns3::PieQueueDisc",
                                "MaxSize", size,
                                "Tupdate", TimeValue(MilliSeconds(15)),
                                "A", DoubleValue(0.125),
                                "B", DoubleValue(1.25),
                                "UseDequeueRateEstimator", BooleanValue(name == "pierate"),
                                "DequeueThreshold", UintegerValue(20));
    }
    else if (name == "codel")
    {
        helper.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", size);
    }
    else if (name == "fqcodel")
    {
        helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", size, "Flows", UintegerValue(1024));
    }
    else if (name == "cobalt")
    {
        helper.SetRootQueueDisc("ns3::CobaltQueueDisc",
                                "MaxSize", size,
                                "Pdrop", DoubleValue(0),
                                "Increment", DoubleValue(0.08),
                                "Decrement", DoubleValue(0.04),
                                "BlueThreshold", TimeValue(MilliSeconds(400)));
    }
    else
    {
        return false;
    }
    return true;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string flow = "http";
    std::string queue = "codel";
    uint32_t device = 100;
    uint32_t seed = 1;
    bool arp = false;
    double seconds = 0;
    CommandLine line(__FILE__);
    line.AddValue("flow", "http (1.5 Mbit/s for 10 s) or ftp (10 Mbit/s for 60 s)", flow);
    line.AddValue("queue", "pfifo, red, pie, pierate, codel, fqcodel or cobalt", queue);
    line.AddValue("device", "device queue, packets", device);
    line.AddValue("seed", "run number of the random streams", seed);
    line.AddValue("arp", "resolve hardware addresses on the bus", arp);
    line.AddValue("seconds", "length of the run; 0: the study's", seconds);
    line.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    if (flow != "http" && flow != "ftp")
    {
        std::fprintf(stderr, "lan: unknown flow %s\n", flow.c_str());
        return 2;
    }
    TrafficControlHelper tested;
    if (!SetScheme(tested, queue))
    {
        std::fprintf(stderr, "lan: unknown queue %s\n", queue.c_str());
        return 2;
    }
    seconds = seconds > 0 ? seconds : flow == "http" ? 10 : 60;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1400));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));

    NodeContainer clients(100), servers(5);
    NodeContainer all(clients, servers);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", StringValue("2Gbps"));
    csma.SetChannelAttribute("Delay", TimeValue(MilliSeconds(1)));
    csma.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, device)));
    NetDeviceContainer devices = csma.Install(all);
    InternetStackHelper stack;
    stack.Install(all);
    QueueDiscContainer discs = tested.Install(devices);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    if (!arp)
    {
        NeighborCacheHelper().PopulateNeighborCache();
    }

    ApplicationContainer receivers =
        PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT)).Install(servers);
    for (uint32_t i = 0; i < clients.GetN() && i < seconds; ++i)
    {
        const Ipv4Address to = interfaces.GetAddress(clients.GetN() + i % servers.GetN());
        OnOffHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, PORT));
        source.SetConstantRate(DataRate(flow == "http" ? "1.5Mbps" : "10Mbps"), 1400);
        source.Install(clients.Get(i)).Start(Seconds(i));
    }

    Data data;
    for (uint32_t i = 0; i < all.GetN(); ++i)
    {
        Ptr<Ipv4L3Protocol> ip = all.Get(i)->GetObject<Ipv4L3Protocol>();
        ip->TraceConnectWithoutContext("SendOutgoing", MakeCallback(&Data::Send, &data));
        ip->TraceConnectWithoutContext("LocalDeliver", MakeCallback(&Data::Receive, &data));
    }
    std::vector<Level> levels(discs.GetN());
    for (uint32_t i = 0; i < discs.GetN(); ++i)
    {
        discs.Get(i)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Level::Change, &levels[i]));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();

    double sum = 0;
    double busiest = 0;
    double servers_sum = 0;
    uint64_t arrivals = 0;
    uint64_t drops = 0;
    for (uint32_t i = 0; i < discs.GetN(); ++i)
    {
        levels[i].Advance();
        const double mean = levels[i].area / seconds;
        sum += mean;
        busiest = std::max(busiest, mean);
        servers_sum += i >= clients.GetN() ? mean : 0;
        const QueueDisc::Stats& stats = discs.Get(i)->GetStats();
        arrivals += stats.nTotalReceivedPackets;
        drops += stats.nTotalDroppedPackets;
    }
    uint64_t payload = 0;
    for (uint32_t i = 0; i < receivers.GetN(); ++i)
    {
        payload += receivers.Get(i)->GetObject<PacketSink>()->GetTotalRx();
    }
    std::printf("{\"flow\": \"%s\", \"qd\": \"%s\", \"device\": %u, \"seed\": %u, \"delay_ms\": %.6g, "
                "\"throughput_kbps\": %.6g, \"goodput_kbps\": %.6g, \"qlen_all\": %.6g, \"qlen_busiest\": %.6g, "
                "\"qlen_servers\": %.6g, \"sent\": %llu, \"delivered\": %llu, \"arrivals\": %llu, \"drops\": %llu}\n",
                flow.c_str(), queue.c_str(), device, seed, 1e3 * data.delay_s / double(std::max<uint64_t>(data.packets, 1)),
                8e-3 * double(data.ip_bytes) / seconds, 8e-3 * double(payload) / seconds, sum, busiest, servers_sum,
                static_cast<unsigned long long>(data.sent), static_cast<unsigned long long>(data.packets),
                static_cast<unsigned long long>(arrivals), static_cast<unsigned long long>(drops));
    Simulator::Destroy();
    return 0;
}
