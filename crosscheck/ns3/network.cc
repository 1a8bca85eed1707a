/*
 * Sixty TCP flows on eight source-routed paths through six routers, in ns-3: the network of M. Gupta's study of a threshold
 * policy (IIT Mandi, 2024), section 5.
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 as published by the Free Software Foundation. It is distributed in the hope that it will be
 * useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR
 * PURPOSE. See the GNU General Public License for more details; <https://www.gnu.org/licenses/gpl-2.0.html>.
 *
 *   network --rtt=100 --threshold=15 --seed=1
 *
 * A router is two nodes with its queue and its capacity between them; behind it links of 10 Gbit/s and 1 ms lead to the
 * next routers, or one of 2 Mbit/s to a destination. Sources have 2 Mbit/s. The base RTT is propagation alone and
 * the same for every route: what the links between routers leave of 5 ms is in front of the destination, all above 10 ms in
 * front of the source. An arrival at R6 is dropped when the threshold is reached; 0 leaves its queue as it is. Flows start
 * uniformly in the first second. Prints one line of JSON over the measured time: utilisation of the capacities and
 * mean queue of the queue discs, weighted by time, without the packet in the device (whose own queue is one packet) and
 * the one on the wire.
 */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

const uint16_t PORT = 5000;
const uint32_t ROUTERS = 6;

/** Capacity and queue of R1 to R6. */
const double MBIT[ROUTERS] = {100, 40, 40, 60, 60, 60};
const uint32_t LIMIT[ROUTERS] = {2084, 834, 834, 1250, 1250, 1250};

/** Links between routers. */
const std::pair<uint32_t, uint32_t> HOPS[] = {{1, 2}, {1, 3}, {2, 4}, {2, 6}, {3, 4}, {3, 5}, {4, 5}, {4, 6}, {5, 6}};

/** A route with its number of flows. */
struct Route
{
    std::vector<uint32_t> routers;
    uint32_t flows;
};

const std::vector<Route> ROUTES = {{{1, 2}, 5},
                                   {{1, 2, 4, 6}, 5},
                                   {{1, 2, 6}, 14},
                                   {{1, 3, 4, 6}, 5},
                                   {{1, 3, 4, 5}, 3},
                                   {{1, 3, 4, 5, 6}, 21},
                                   {{1, 3, 5, 6}, 4},
                                   {{1, 3}, 3}};

/** What a router does from the warm-up on. */
struct Router
{
    double from = 0;
    double area = 0;
    double since = 0;
    uint32_t now = 0;
    double wire_bytes = 0;

    void Advance()
    {
        const double t = Simulator::Now().GetSeconds();
        area += now * std::max(0.0, t - std::max(since, from));
        since = t;
    }

    void Change(uint32_t, uint32_t length)
    {
        Advance();
        now = length;
    }

    void Sent(Ptr<const Packet> packet)
    {
        if (Simulator::Now().GetSeconds() >= from)
        {
            wire_bytes += packet->GetSize();
        }
    }
};

/** The network under construction. */
class Builder
{
  public:
    /** Links two nodes; returns the device of the first. */
    Ptr<NetDevice> Link(Ptr<Node> from, Ptr<Node> to, double mbit, double ms, uint32_t limit)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(std::llround(mbit * 1e6)))));
        link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(std::llround(ms * 1e6))));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        NetDeviceContainer devices = link.Install(from, to);
        TrafficControlHelper tested;
        tested.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)));
        tested.Install(devices.Get(0));
        TrafficControlHelper plain;
        plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100000p"));
        plain.Install(devices.Get(1));
        addresses.NewNetwork();
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        interface[{from, to}] = interfaces.Get(0).second;
        interface[{to, from}] = interfaces.Get(1).second;
        return devices.Get(0);
    }

    /** Sends what is for `address` along `path`. */
    void Way(const std::vector<Ptr<Node>>& path, Ipv4Address address)
    {
        Ipv4StaticRoutingHelper helper;
        for (size_t i = 0; i + 1 < path.size(); ++i)
        {
            Ptr<Ipv4StaticRouting> routing = helper.GetStaticRouting(path[i]->GetObject<Ipv4>());
            routing->AddHostRouteTo(address, interface.at({path[i], path[i + 1]}));
        }
    }

    /** Of the far end's only link. */
    Ipv4Address Address(Ptr<Node> host) const
    {
        return host->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    }

  private:
    Ipv4AddressHelper addresses{"10.1.0.0", "255.255.255.252"};
    std::map<std::pair<Ptr<Node>, Ptr<Node>>, uint32_t> interface;
};

} // namespace

int
main(int argc, char* argv[])
{
    double rtt = 100;
    uint32_t threshold = 0;
    uint32_t seed = 1;
    double seconds = 60;
    double warm_up = 10;
    std::string tcp = "TcpLinuxReno";
    CommandLine line(__FILE__);
    line.AddValue("rtt", "base RTT, ms, at least 10", rtt);
    line.AddValue("threshold", "of R6, packets; 0: drop tail", threshold);
    line.AddValue("seed", "run number of the random streams", seed);
    line.AddValue("seconds", "length of the run", seconds);
    line.AddValue("warm-up", "left out at the beginning, s", warm_up);
    line.AddValue("tcp", "congestion control, ns-3's name", tcp);
    line.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + tcp)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1446));

    NodeContainer in(ROUTERS), out(ROUTERS);
    InternetStackHelper stack;
    stack.Install(in);
    stack.Install(out);
    Builder builder;
    std::vector<Router> routers(ROUTERS);
    for (uint32_t r = 0; r < ROUTERS; ++r)
    {
        const uint32_t limit = r == 5 && threshold > 0 ? threshold : LIMIT[r];
        Ptr<NetDevice> device = builder.Link(in.Get(r), out.Get(r), MBIT[r], 0, limit);
        Ptr<QueueDisc> disc = in.Get(r)->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(device);
        routers[r].from = warm_up;
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Router::Change, &routers[r]));
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Router::Sent, &routers[r]));
    }
    for (const auto& [from, to] : HOPS)
    {
        builder.Link(out.Get(from - 1), in.Get(to - 1), 10000, 1, 100000);
    }
    ApplicationContainer receivers;
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (const Route& route : ROUTES)
    {
        for (uint32_t i = 0; i < route.flows; ++i)
        {
            NodeContainer hosts(2);
            stack.Install(hosts);
            const double between = double(route.routers.size() - 1);
            std::vector<Ptr<Node>> path = {hosts.Get(0)};
            for (uint32_t router : route.routers)
            {
                path.push_back(in.Get(router - 1));
                path.push_back(out.Get(router - 1));
            }
            path.push_back(hosts.Get(1));
            builder.Link(path[0], path[1], 2, rtt / 2 - 5, 100000);
            builder.Link(path[path.size() - 2], path.back(), 2, 5 - between, 100000);
            builder.Way(path, builder.Address(hosts.Get(1)));
            std::reverse(path.begin(), path.end());
            builder.Way(path, builder.Address(hosts.Get(0)));
            PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
            receivers.Add(sink.Install(hosts.Get(1)));
            BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(builder.Address(hosts.Get(1)), PORT));
            bulk.Install(hosts.Get(0)).Start(Seconds(start->GetValue(0.0, 1.0)));
        }
    }

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();

    const double measured = seconds - warm_up;
    std::printf("{\"rtt_ms\": %g, \"threshold\": %u, \"tcp\": \"%s\", \"seconds\": %g, \"warm_up\": %g, \"seed\": %u",
                rtt, threshold, tcp.c_str(), seconds, warm_up, seed);
    for (uint32_t r = 0; r < ROUTERS; ++r)
    {
        routers[r].Advance();
        std::printf(", \"util_R%u\": %.6f, \"qlen_R%u\": %.4f", r + 1,
                    routers[r].wire_bytes * 8 / (MBIT[r] * 1e6 * measured), r + 1, routers[r].area / measured);
    }
    uint64_t payload = 0;
    for (uint32_t i = 0; i < receivers.GetN(); ++i)
    {
        payload += receivers.Get(i)->GetObject<PacketSink>()->GetTotalRx();
    }
    std::printf(", \"goodput_mbps\": %.5f}\n", 8e-6 * double(payload) / seconds);
    Simulator::Destroy();
    return 0;
}
