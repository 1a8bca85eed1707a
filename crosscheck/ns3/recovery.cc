/*
 * One flow of ns-3's TCP over a fast path of 93 ms that loses given segments: what is sent, and when.
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 as published by the Free Software Foundation. It is distributed in the hope that it will be
 * useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR
 * PURPOSE. See the GNU General Public License for more details; <https://www.gnu.org/licenses/gpl-2.0.html>.
 *
 *   recovery TcpLinuxReno WRITE LOST...
 *
 * The application fills the send buffer of 131072 B in writes of WRITE bytes. LOST are numbers of transmissions with payload, counted from 0.
 * Prints two lines: the words given, and ms:first-end of what is sent in the first 2.5 s, lost or not, in bytes of the stream; segments of 1446 B
 * that follow each other within a millisecond are one, up to one that is shorter. Time begins with the first segment. 93 ms: no timeout,
 * which is whole seconds, falls on an acknowledgement.
 */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const uint32_t MSS = 1446;
const Time SPAN = MilliSeconds(2500);

/** Bytes of the stream. */
struct Run
{
    int64_t ms;
    uint32_t first;
    uint32_t end;
    bool open;
};

/** What a frame carries of the stream. */
Run
Payload(Ptr<const Packet> frame)
{
    Ptr<Packet> packet = frame->Copy();
    PppHeader ppp;
    Ipv4Header ip;
    TcpHeader tcp;
    packet->RemoveHeader(ppp);
    packet->RemoveHeader(ip);
    packet->RemoveHeader(tcp);
    const uint32_t first = tcp.GetSequenceNumber().GetValue() - 1;
    return {0, first, first + packet->GetSize(), packet->GetSize() == MSS};
}

/** Loses the transmissions whose numbers are named. */
class Named : public ErrorModel
{
  public:
    std::set<uint64_t> lost;

  private:
    uint64_t seen = 0;

    bool DoCorrupt(Ptr<Packet> packet) override
    {
        const Run payload = Payload(packet);
        return payload.end > payload.first && lost.count(seen++) > 0;
    }

    void DoReset() override
    {
    }
};

std::vector<Run> runs;
Time begin = Time::Max();

void
Sent(Ptr<const Packet> frame)
{
    Run run = Payload(frame);
    if (run.end == run.first)
    {
        return;
    }
    begin = std::min(begin, Simulator::Now());
    run.ms = (Simulator::Now() - begin).GetMilliSeconds();
    if (!runs.empty() && runs.back().open && runs.back().ms == run.ms && runs.back().end == run.first)
    {
        runs.back().end = run.end;
        runs.back().open = run.open;
    }
    else
    {
        runs.push_back(run);
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc < 3)
    {
        std::fprintf(stderr, "usage: recovery TCP WRITE LOST...\n");
        return 2;
    }
    const std::string tcp = argv[1];
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + tcp)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(131072));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(std::stoul(argv[2])));

    NodeContainer hosts(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1000Gbps"));
    link.SetChannelAttribute("Delay", StringValue("46500us"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("10000p"));
    NetDeviceContainer devices = link.Install(hosts);
    InternetStackHelper stack;
    stack.Install(hosts);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    Ptr<Named> losses = CreateObject<Named>();
    for (int i = 3; i < argc; ++i)
    {
        losses->lost.insert(std::stoull(argv[i]));
    }
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    sink.Install(hosts.Get(1));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 5000));
    bulk.Install(hosts.Get(0)).Start(Seconds(0.5));
    // It starts when the handshake is done.
    Simulator::Stop(Seconds(0.5) + MilliSeconds(93) + SPAN);
    Simulator::Run();

    std::printf("%s", tcp.c_str());
    for (int i = 2; i < argc; ++i)
    {
        std::printf(" %s", argv[i]);
    }
    std::printf("\n");
    for (size_t i = 0; i < runs.size(); ++i)
    {
        std::printf("%s%ld:%u-%u", i ? " " : "", long(runs[i].ms), runs[i].first, runs[i].end);
    }
    std::printf("\n");
    Simulator::Destroy();
    return 0;
}
