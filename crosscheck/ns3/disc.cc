/*
 * One of ns-3's queue discs, driven directly by a trace of arrivals and requests.
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 as published by the Free Software Foundation. It is distributed in the hope that it will be
 * useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR
 * PURPOSE. See the GNU General Public License for more details; <https://www.gnu.org/licenses/gpl-2.0.html>.
 *
 *   disc pfifo|codel|cobalt|red|pie [SEED] < trace
 *
 * A line of the trace is "+ NANOSECONDS BYTES", an arrival, or "- NANOSECONDS", a request for the next packet. Arrivals
 * are numbered from 0. Prints a line "SERIAL NANOSECONDS" for each packet dropped, in the order of drops.
 */
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

using namespace ns3;

namespace
{

class Item : public QueueDiscItem
{
  public:
    explicit Item(Ptr<Packet> packet)
        : QueueDiscItem(packet, Address(), 0)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        return false;
    }
};

std::map<uint64_t, uint64_t> serials;

void
Dropped(Ptr<const QueueDiscItem> item)
{
    std::printf("%" PRIu64 " %" PRId64 "\n", serials.at(item->GetPacket()->GetUid()), Simulator::Now().GetNanoSeconds());
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string name = argc >= 2 ? argv[1] : "";
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(argc >= 3 ? std::strtoul(argv[2], nullptr, 10) : 1);
    Ptr<QueueDisc> disc;
    if (name == "pfifo")
    {
        disc = CreateObjectWithAttributes<FifoQueueDisc>("MaxSize", QueueSizeValue(QueueSize("50p")));
    }
    else if (name == "codel")
    {
        disc = CreateObjectWithAttributes<CoDelQueueDisc>(
            "MaxSize", QueueSizeValue(QueueSize("1000p")), "MinBytes", UintegerValue(1500),
            "Interval", StringValue("100ms"), "Target", StringValue("5ms"));
    }
    else if (name == "cobalt")
    {
        disc = CreateObjectWithAttributes<CobaltQueueDisc>("MaxSize", QueueSizeValue(QueueSize("1000p")),
                                                           "Interval", StringValue("100ms"),
                                                           "Target", StringValue("5ms"));
    }
    else if (name == "red")
    {
        disc = CreateObjectWithAttributes<RedQueueDisc>(
            "MaxSize", QueueSizeValue(QueueSize("100p")), "MinTh", DoubleValue(20), "MaxTh", DoubleValue(60), "LInterm",
            DoubleValue(10), "Gentle", BooleanValue(true), "QW", DoubleValue(0.002), "MeanPktSize", UintegerValue(1000),
            "LinkBandwidth", StringValue("10Mbps"), "LinkDelay", StringValue("1ms"));
    }
    else if (name == "pie")
    {
        disc = CreateObjectWithAttributes<PieQueueDisc>("MaxSize", QueueSizeValue(QueueSize("1000p")));
    }
    else
    {
        std::fprintf(stderr, "disc: %s is not known; allowed: pfifo, codel, cobalt, red, pie\n", name.c_str());
        return 2;
    }
    disc->Initialize();
    disc->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    char kind = 0;
    int64_t at = 0;
    uint32_t bytes = 0;
    uint64_t serial = 0;
    // Events of one instant run in the order in which they are scheduled.
    while (std::scanf(" %c %" SCNd64, &kind, &at) == 2)
    {
        if (kind == '+' && std::scanf("%" SCNu32, &bytes) == 1)
        {
            Ptr<Packet> packet = Create<Packet>(bytes);
            serials[packet->GetUid()] = serial++;
            Simulator::Schedule(NanoSeconds(at), [=]() { disc->Enqueue(Create<Item>(packet)); });
        }
        else
        {
            Simulator::Schedule(NanoSeconds(at), [=]() { disc->Dequeue(); });
        }
    }
    // PIE's updates would go on for ever.
    Simulator::Stop(NanoSeconds(at + 1));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
