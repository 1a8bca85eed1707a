/*
 * Bulk TCP flows through one bottleneck, in ns-3.
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 as published by the Free Software Foundation. It is distributed in the hope that it will be
 * useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR
 * PURPOSE. See the GNU General Public License for more details; <https://www.gnu.org/licenses/gpl-2.0.html>.
 *
 *   dumbbell --flows=20 --mbit=10 --rtt=20 --queue=codel --limit=1000 --seed=1
 *   dumbbell --library=./libmy_pie.so --parameters=target=5ms,ecn --ecn --decisions=decisions.txt
 *
 * senders - 1 Gbit/s - L = bottleneck = R - 1 Gbit/s - sinks. The base RTT is propagation alone: a quarter of it is
 * the bottleneck's one-way delay, an eighth each access link's. Flows start uniformly in the first second. Prints one
 * line of JSON over the measured time. Queue length is that of the queue disc, weighted by time, without the packet in
 * the device (whose own queue is one packet) and the one on the wire.
 */
#include "plugged.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace ns3;

namespace
{

/** Time spent at every queue length, from the warm-up on. */
struct Levels
{
    double from = 0;
    double since = 0;
    uint32_t now = 0;
    std::vector<double> seconds;

    void Advance()
    {
        const double t = Simulator::Now().GetSeconds();
        const double start = std::max(since, from);
        if (t > start)
        {
            if (seconds.size() <= now)
            {
                seconds.resize(now + 1, 0.0);
            }
            seconds[now] += t - start;
        }
        since = t;
    }

    void Change(uint32_t, uint32_t length)
    {
        Advance();
        now = length;
    }
};

/** What is counted from the warm-up on. */
struct Counts
{
    QueueDisc::Stats disc;
    std::vector<uint64_t> received;
    double wire_bytes = 0;
    double sojourn_s = 0;
    uint64_t sojourns = 0;
    double from = 0;

    void Sent(Ptr<const Packet> packet)
    {
        if (Simulator::Now().GetSeconds() >= from)
        {
            wire_bytes += packet->GetSize();
        }
    }

    void Sojourn(Time time)
    {
        if (Simulator::Now().GetSeconds() >= from)
        {
            sojourn_s += time.GetSeconds();
            ++sojourns;
        }
    }
};

std::vector<uint64_t>
Received(const ApplicationContainer& sinks)
{
    std::vector<uint64_t> bytes;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        bytes.push_back(sinks.Get(i)->GetObject<PacketSink>()->GetTotalRx());
    }
    return bytes;
}

uint32_t
Quantile(const Levels& levels, double total, double share)
{
    double sum = 0;
    for (uint32_t n = 0; n < levels.seconds.size(); ++n)
    {
        sum += levels.seconds[n];
        if (sum >= share * total)
        {
            return n;
        }
    }
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t flows = 1;
    double mbit = 10;
    double rtt = 20;
    std::string queue = "codel";
    uint32_t limit = 1000;
    uint32_t seed = 1;
    double seconds = 60;
    double warm_up = 12;
    std::string tcp = "TcpNewReno";
    bool ecn = false;
    std::string library;
    std::string parameters;
    std::string decisions;
    CommandLine line(__FILE__);
    line.AddValue("flows", "bulk flows", flows);
    line.AddValue("mbit", "bottleneck, Mbit/s", mbit);
    line.AddValue("rtt", "base RTT, ms", rtt);
    line.AddValue("queue", "pfifo, red, pie, codel, fqcodel or cobalt", queue);
    line.AddValue("limit", "limit, packets", limit);
    line.AddValue("seed", "run number of the random streams", seed);
    line.AddValue("seconds", "length of the run", seconds);
    line.AddValue("warm-up", "left out at the beginning, s", warm_up);
    line.AddValue("tcp", "congestion control, ns-3's name", tcp);
    line.AddValue("ecn", "the flows negotiate ECN", ecn);
    line.AddValue("library", "instead of --queue, an algorithm of sojourn_aqm.h: plugged.h", library);
    line.AddValue("parameters", "of the library's algorithm: target=5ms,ecn", parameters);
    line.AddValue("decisions", "file for what the library's algorithm was shown and decided", decisions);
    line.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + tcp)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpPrrRecovery")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(8 << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));

    NodeContainer left(1), right(1), senders(flows), sinks(flows);
    InternetStackHelper stack;
    stack.InstallAll();

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    access.SetChannelAttribute("Delay", TimeValue(MicroSeconds(std::lround(rtt * 125))));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    PointToPointHelper middle;
    middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(mbit * 1e6))));
    middle.SetChannelAttribute("Delay", TimeValue(MicroSeconds(std::lround(rtt * 250))));
    middle.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));

    const QueueSize size(QueueSizeUnit::PACKETS, limit);
    TrafficControlHelper plain;
    plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100000p"));
    TrafficControlHelper tested;
    if (!library.empty())
    {
        queue = library;
        tested.SetRootQueueDisc("ns3::PluggedQueueDisc",
                                "MaxSize", QueueSizeValue(size),
                                "Library", StringValue(library),
                                "Parameters", StringValue(parameters),
                                "Decisions", StringValue(decisions),
                                "Rate", DataRateValue(DataRate(static_cast<uint64_t>(mbit * 1e6))));
    }
    else if (queue == "pfifo")
    {
        tested.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", QueueSizeValue(size));
    }
    else if (queue == "red")
    {
        tested.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MaxSize", QueueSizeValue(size),
                                "MinTh", DoubleValue(0.25 * limit),
                                "MaxTh", DoubleValue(0.75 * limit),
                                "LInterm", DoubleValue(50),
                                "Gentle", BooleanValue(true),
                                "MeanPktSize", UintegerValue(1500),
                                "LinkBandwidth", DataRateValue(DataRate(static_cast<uint64_t>(mbit * 1e6))),
                                "LinkDelay", TimeValue(MicroSeconds(std::lround(rtt * 250))));
    }
    else if (queue == "pie" || queue == "codel" || queue == "cobalt" || queue == "fqcodel")
    {
        const std::string type = queue == "pie"      ? "ns3::PieQueueDisc"
                                 : queue == "codel"  ? "ns3::CoDelQueueDisc"
                                 : queue == "cobalt" ? "ns3::CobaltQueueDisc"
                                                     : "ns3::FqCoDelQueueDisc";
        tested.SetRootQueueDisc(type, "MaxSize", QueueSizeValue(size));
    }
    else
    {
        std::fprintf(stderr, "dumbbell: unknown queue %s\n", queue.c_str());
        return 2;
    }

    Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.0");
    NetDeviceContainer bottleneck = middle.Install(left.Get(0), right.Get(0));
    Ptr<QueueDisc> disc = tested.Install(bottleneck.Get(0)).Get(0);
    plain.Install(bottleneck.Get(1));
    addresses.Assign(bottleneck);

    ApplicationContainer receivers;
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < flows; ++i)
    {
        addresses.NewNetwork();
        NetDeviceContainer in = access.Install(senders.Get(i), left.Get(0));
        plain.Install(in);
        addresses.Assign(in);
        addresses.NewNetwork();
        NetDeviceContainer out = access.Install(right.Get(0), sinks.Get(i));
        plain.Install(out);
        const Ipv4Address to = addresses.Assign(out).GetAddress(1);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        receivers.Add(sink.Install(sinks.Get(i)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(to, 5000));
        bulk.Install(senders.Get(i)).Start(Seconds(start->GetValue(0.0, 1.0)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Levels levels;
    levels.from = warm_up;
    Counts counts;
    counts.from = warm_up;
    disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Levels::Change, &levels));
    disc->TraceConnectWithoutContext("SojournTime", MakeCallback(&Counts::Sojourn, &counts));
    bottleneck.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Counts::Sent, &counts));
    Simulator::Schedule(Seconds(warm_up), [&]() {
        counts.disc = disc->GetStats();
        counts.received = Received(receivers);
    });
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    levels.Advance();

    const double measured = seconds - warm_up;
    double total = 0;
    double mean = 0;
    double square = 0;
    for (uint32_t n = 0; n < levels.seconds.size(); ++n)
    {
        total += levels.seconds[n];
        mean += n * levels.seconds[n];
        square += double(n) * n * levels.seconds[n];
    }
    mean /= total;
    double sum = 0;
    double squares = 0;
    const std::vector<uint64_t> received = Received(receivers);
    for (uint32_t i = 0; i < flows; ++i)
    {
        const double bits = 8.0 * double(received[i] - counts.received[i]) / measured;
        sum += bits;
        squares += bits * bits;
    }
    const QueueDisc::Stats& end = disc->GetStats();
    const double arrivals = end.nTotalReceivedPackets - counts.disc.nTotalReceivedPackets;
    const double drops = end.nTotalDroppedPackets - counts.disc.nTotalDroppedPackets;
    std::printf("{\"n\": %u, \"mbps\": %g, \"rtt_ms\": %g, \"tcp\": \"%s\", \"qd\": \"%s\", \"limit\": %u, \"seed\": %u, "
                "\"goodput_mbps\": %.6g, \"jain\": %.5f, \"util\": %.6f, \"qlen_mean\": %.4f, \"qlen_std\": %.4f, "
                "\"qlen_p50\": %u, \"qlen_p99\": %u, \"soj_ms_mean\": %.4f, \"loss\": %.6f}\n",
                flows, mbit, rtt, tcp.c_str(), queue.c_str(), limit, seed,
                sum / 1e6, sum * sum / (flows * squares), counts.wire_bytes * 8 / (mbit * 1e6 * measured),
                mean, std::sqrt(std::max(0.0, square / total - mean * mean)),
                Quantile(levels, total, 0.5), Quantile(levels, total, 0.99),
                1e3 * counts.sojourn_s / double(std::max<uint64_t>(counts.sojourns, 1)), drops / arrivals);
    Simulator::Destroy();
    return 0;
}
