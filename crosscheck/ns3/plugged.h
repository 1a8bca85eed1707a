/*
 * A queue disc that asks an algorithm of sojourn_aqm.h, in a shared library.
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 as published by the Free Software Foundation. It is distributed in the hope that it will be
 * useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR
 * PURPOSE. See the GNU General Public License for more details; <https://www.gnu.org/licenses/gpl-2.0.html>.
 *
 *   tested.SetRootQueueDisc("ns3::PluggedQueueDisc", "Library", StringValue("./libmy_pie.so"),
 *                           "Parameters", StringValue("target=5ms,ecn"), "Rate", DataRateValue(rate));
 *
 * Include it in one file of a program, and compile with -I to the folder of sojourn_aqm.h. The disc keeps the rules of
 * that header as Sojourn does: it drops arrivals at the limit, brings updates up to date before each packet at their
 * nominal instants, and draws random numbers only where the algorithm asks. An answer that is none ends the program.
 *
 * With "Decisions" it writes what it was shown and what was decided, which `sojourn check aqm LIBRARY --decisions FILE`
 * repeats. After a line of words, "KEY=VALUE", there is a line for each call:
 *
 *   + NANOSECONDS BYTES ECN DSCP FLOW SOURCE DESTINATION | RANDOM NUMBERS | DECISIONS
 *   - NANOSECONDS | RANDOM NUMBERS | DECISIONS
 *
 * of an arrival, and of a request for the next packet. Random numbers have 64 bits, in hexadecimal digits. Decisions are
 * drop:N and mark:N, and of a request send:N; N numbers the arrivals from 0.
 */
#ifndef PLUGGED_H
#define PLUGGED_H

#include "sojourn_aqm.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <sstream>
#include <string>
#include <vector>

namespace ns3
{

class PluggedQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::PluggedQueueDisc")
                .SetParent<QueueDisc>()
                .SetGroupName("TrafficControl")
                .AddConstructor<PluggedQueueDisc>()
                .AddAttribute("Library", "Shared library that defines sojourn_aqm_plugin().", StringValue(""),
                              MakeStringAccessor(&PluggedQueueDisc::m_library), MakeStringChecker())
                .AddAttribute("Parameters", "Parameters: target=5ms,ecn, or as in tc, target 5ms ecn.", StringValue(""),
                              MakeStringAccessor(&PluggedQueueDisc::m_parameters), MakeStringChecker())
                .AddAttribute("MaxSize", "Limit at which arrivals are dropped; of no packets: the library's default.",
                              QueueSizeValue(QueueSize("0p")),
                              MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                              MakeQueueSizeChecker())
                .AddAttribute("Rate", "Rate of the link that the queue feeds.", DataRateValue(DataRate("10Mbps")),
                              MakeDataRateAccessor(&PluggedQueueDisc::m_rate), MakeDataRateChecker())
                .AddAttribute("Decisions", "File for what was shown and decided; none: nothing is written.",
                              StringValue(""), MakeStringAccessor(&PluggedQueueDisc::m_decisions),
                              MakeStringChecker());
        return tid;
    }

    PluggedQueueDisc()
        : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES)
    {
        m_random = CreateObject<UniformRandomVariable>();
    }

    ~PluggedQueueDisc() override
    {
        if (m_log)
        {
            std::fclose(m_log);
        }
    }

    int64_t AssignStreams(int64_t stream)
    {
        m_random->SetStream(stream);
        return 1;
    }

  private:
    /** The state is allocated in blocks of the greatest alignment that a table may ask for. */
    struct alignas(64) Block
    {
        unsigned char bytes[64];
    };

    /** A queue as the algorithm sees it, with what answers its questions behind it. */
    struct Asked
    {
        sojourn_queue seen;
        PluggedQueueDisc* disc;
        bool mayDraw;
        uint32_t looks;
        const char* wrong;
    };

    struct Unit
    {
        const char* name;
        long double scale;
    };

    static constexpr uint32_t LOOKS = 64;
    static constexpr uint64_t CATCH_UP = 4096;
    static constexpr uint64_t NEVER = UINT64_MAX;

    bool CheckConfig() override
    {
        if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 || GetNInternalQueues() > 0)
        {
            NS_FATAL_ERROR("PluggedQueueDisc: has no classes, filters and queues of the user; allowed: none of them");
        }
        Load();
        // "Multiple queues" is what lets a disc keep the limit itself, as Sojourn keeps it.
        AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>(
            "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, UINT32_MAX))));
        return true;
    }

    void InitializeParams() override
    {
        m_state.assign(m_table->state_bytes / sizeof(Block) + 1, Block{});
        const std::vector<sojourn_value> values = Values();
        Expect("init", m_table->init(m_state.data(), values.data()), {SOJOURN_DONE}, "5 (done)", nullptr);
        if (m_decisions.empty())
        {
            return;
        }
        m_log = std::fopen(m_decisions.c_str(), "w");
        if (!m_log)
        {
            NS_FATAL_ERROR("PluggedQueueDisc: Decisions: " << m_decisions << ": " << std::strerror(errno));
        }
        const QueueSize limit = GetMaxSize();
        std::fprintf(m_log, "sojourn_aqm=%u rate_bit_s=%" PRIu64 " aqm=%s limit %u%s%s%s\n", SOJOURN_AQM_VERSION,
                     m_rate.GetBitRate(), m_table->name, limit.GetValue(),
                     limit.GetUnit() == QueueSizeUnit::BYTES ? "B" : "p", m_parameters.empty() ? "" : " ",
                     m_parameters.c_str());
    }

    void Load()
    {
        // By its path: without a slash the loader would look into the folders of the system.
        const std::string path = m_library.find('/') == std::string::npos ? "./" + m_library : m_library;
        void* library = m_library.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library)
        {
            NS_FATAL_ERROR("PluggedQueueDisc: Library: " << (m_library.empty() ? "none is given" : dlerror()));
        }
        void* symbol = dlsym(library, "sojourn_aqm_plugin");
        if (!symbol)
        {
            NS_FATAL_ERROR("PluggedQueueDisc: " << m_library << " does not define sojourn_aqm_plugin()");
        }
        m_table = reinterpret_cast<const sojourn_aqm* (*)()>(symbol)();
        if (!m_table || m_table->version != SOJOURN_AQM_VERSION || m_table->table_bytes != sizeof(sojourn_aqm))
        {
            NS_FATAL_ERROR("PluggedQueueDisc: " << m_library << " has another version of the interface than "
                                                << SOJOURN_AQM_VERSION << ": compile it with this sojourn_aqm.h");
        }
        if (GetMaxSize().GetValue() == 0)
        {
            SetMaxSize(QueueSize(m_table->limit ? m_table->limit : "1000p"));
        }
    }

    // ---- Parameters ----

    /** The defaults, and what the user wrote. */
    std::vector<sojourn_value> Values()
    {
        std::vector<sojourn_value> values;
        for (uint64_t i = 0; i < m_table->parameters_len; ++i)
        {
            values.push_back(Read(m_table->parameters[i], m_table->parameters[i].initial));
        }
        for (char& one : m_parameters)
        {
            one = one == ',' || one == '=' ? ' ' : one;
        }
        std::istringstream words(m_parameters);
        std::string word;
        while (words >> word)
        {
            const bool isNo = word.rfind("no", 0) == 0 && Find(word) < 0;
            const int64_t at = Find(isNo ? word.substr(2) : word);
            if (at < 0)
            {
                NS_FATAL_ERROR("PluggedQueueDisc: Parameters: unknown parameter " << word << "; allowed:" << Names());
            }
            const sojourn_parameter& parameter = m_table->parameters[at];
            std::string text = isNo ? "false" : "true";
            if (parameter.kind != SOJOURN_FLAG && !(words >> text))
            {
                NS_FATAL_ERROR("PluggedQueueDisc: Parameters: " << word << " has no value; allowed: as in "
                                                                << parameter.initial);
            }
            values[at] = Read(parameter, text);
            if (m_table->period && std::string(m_table->period) == parameter.name && values[at].whole <= 0)
            {
                NS_FATAL_ERROR("PluggedQueueDisc: Parameters: " << word << " is 0; allowed: a time above 0");
            }
        }
        for (uint64_t i = 0; i < m_table->parameters_len; ++i)
        {
            if (m_table->period && std::string(m_table->period) == m_table->parameters[i].name)
            {
                m_period = values[i].whole;
            }
        }
        return values;
    }

    int64_t Find(const std::string& name) const
    {
        for (uint64_t i = 0; i < m_table->parameters_len; ++i)
        {
            if (name == m_table->parameters[i].name)
            {
                return i;
            }
        }
        return -1;
    }

    std::string Names() const
    {
        std::string names;
        for (uint64_t i = 0; i < m_table->parameters_len; ++i)
        {
            names += std::string(" ") + m_table->parameters[i].name;
        }
        return names;
    }

    static sojourn_value Read(const sojourn_parameter& parameter, const std::string& text)
    {
        static const std::vector<Unit> times{{"ns", 1}, {"us", 1e3L}, {"ms", 1e6L}, {"s", 1e9L}};
        static const std::vector<Unit> bytes{{"B", 1},     {"kB", 1e3L},    {"MB", 1e6L},   {"GB", 1e9L},
                                             {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
        static const std::vector<Unit> packets{{"p", 1}, {"packets", 1}};
        static const std::vector<Unit> rates{{"bit", 1},        {"kbit", 1e3L},   {"mbit", 1e6L},  {"gbit", 1e9L},
                                             {"bit/s", 1},      {"kbit/s", 1e3L}, {"Mbit/s", 1e6L}, {"Gbit/s", 1e9L}};
        static const std::vector<Unit> shares{{"", 1}, {"%", 1}};
        static const std::vector<Unit> none{{"", 1}};
        sojourn_value value;
        if (parameter.kind == SOJOURN_FLAG)
        {
            value.whole = text == "true" || text == "on" || text == "yes";
            return value;
        }
        const std::vector<Unit>& units = parameter.kind == SOJOURN_TIME          ? times
                                         : parameter.kind == SOJOURN_BYTES       ? bytes
                                         : parameter.kind == SOJOURN_PACKETS     ? packets
                                         : parameter.kind == SOJOURN_RATE        ? rates
                                         : parameter.kind == SOJOURN_PROBABILITY ? shares
                                                                                 : none;
        char* end = nullptr;
        const bool isReal = parameter.kind == SOJOURN_PROBABILITY || parameter.kind == SOJOURN_NUMBER;
        const double real = std::strtod(text.c_str(), &end);
        const long double number = std::strtold(text.c_str(), nullptr);
        std::string rest(end);
        rest.erase(0, rest.find_first_not_of(' '));
        std::string allowed;
        for (const Unit& unit : units)
        {
            allowed += std::string(" ") + (*unit.name ? unit.name : "no unit");
            if (end != text.c_str() && number >= 0 && rest == unit.name)
            {
                if (isReal)
                {
                    value.real = rest == "%" ? real / 100 : real;
                }
                else
                {
                    value.whole = std::llroundl(number * unit.scale);
                }
                return value;
            }
        }
        NS_FATAL_ERROR("PluggedQueueDisc: Parameters: " << parameter.name << ": " << text
                                                        << "; allowed: a number with one of:" << allowed);
    }

    // ---- The algorithm's calls ----

    /** Ends the program at an answer that is none. */
    void Expect(const char* function, int32_t answer, std::initializer_list<int32_t> good, const char* allowed,
                const Asked* asked) const
    {
        bool isGood = false;
        for (const int32_t one : good)
        {
            isGood = isGood || one == answer;
        }
        if (!isGood)
        {
            NS_FATAL_ERROR("PluggedQueueDisc: " << m_table->name << ": " << function << " gives the answer " << answer
                                                << "; allowed: " << allowed);
        }
        if (asked && asked->wrong)
        {
            NS_FATAL_ERROR("PluggedQueueDisc: " << m_table->name << ": " << function << " " << asked->wrong);
        }
    }

    Asked Shown(uint64_t now, bool mayDraw)
    {
        static const sojourn_host host{Uniform, Chance, Waiting, Exp, Log, Pow};
        const uint64_t oldest = m_waiting.empty() ? now : m_waiting.front().enqueued_ns;
        return {{now, m_rate.GetBitRate(), m_bytes, m_waiting.size(), oldest, &host}, this, mayDraw, 0, nullptr};
    }

    static Asked& Whole(sojourn_queue* queue)
    {
        return *reinterpret_cast<Asked*>(queue);
    }

    static double Uniform(sojourn_queue* queue)
    {
        Asked& asked = Whole(queue);
        if (!asked.mayDraw)
        {
            asked.wrong = "asks for a random number, which only enqueue and dequeue may";
            return 0.5;
        }
        UniformRandomVariable& random = *asked.disc->m_random;
        const uint64_t upper = random.GetInteger(0, UINT32_MAX);
        const uint64_t drawn = upper << 32 | random.GetInteger(0, UINT32_MAX);
        asked.disc->m_drawn.push_back(drawn);
        return static_cast<double>(drawn >> 11) / 9007199254740992.0;
    }

    static int32_t Chance(sojourn_queue* queue, double p)
    {
        if (std::isnan(p))
        {
            Whole(queue).wrong = "asks for a chance with a probability that is not a number";
            return 0;
        }
        return p <= 0 || p >= 1 ? p >= 1 : Uniform(queue) < p;
    }

    static const sojourn_packet* Waiting(sojourn_queue* queue, uint64_t index)
    {
        Asked& asked = Whole(queue);
        if (asked.looks++ >= LOOKS)
        {
            asked.wrong = "looks at more than 64 waiting packets in one call";
            return nullptr;
        }
        const std::deque<sojourn_packet>& waiting = asked.disc->m_waiting;
        return index < waiting.size() ? &waiting[index] : nullptr;
    }

    static double Exp(double x)
    {
        return std::exp(x);
    }

    static double Log(double x)
    {
        return std::log(x);
    }

    static double Pow(double x, double y)
    {
        return std::pow(x, y);
    }

    /** The updates that are due, each with its nominal instant as now. */
    void CatchUp(uint64_t now)
    {
        if (m_next > now)
        {
            return;
        }
        const uint64_t due = (now - m_next) / m_period + 1;
        m_next += due > CATCH_UP ? (due - CATCH_UP) * m_period : 0;
        for (; m_next <= now; m_next += m_period)
        {
            Asked asked = Shown(m_next, false);
            Expect("update", m_table->update(m_state.data(), &asked.seen), {SOJOURN_DONE}, "5 (done)", &asked);
        }
    }

    // ---- The queue ----

    static uint32_t Hashed(const Address& address)
    {
        uint8_t bytes[Address::MAX_SIZE];
        const uint32_t length = address.CopyTo(bytes);
        return Hash32(reinterpret_cast<const char*>(bytes), length);
    }

    /** What the algorithm sees of a packet; one without an IP header has no hashes of hosts, and cannot be marked. */
    sojourn_packet Described(Ptr<const QueueDiscItem> item, uint64_t now)
    {
        sojourn_packet packet{};
        packet.enqueued_ns = now;
        packet.number = m_arrivals++;
        packet.handle = static_cast<uint32_t>(packet.number);
        packet.flow = item->Hash(0);
        packet.size_bytes = item->GetSize();
        uint8_t traffic = 0;
        if (Ptr<const Ipv4QueueDiscItem> ip4 = DynamicCast<const Ipv4QueueDiscItem>(item))
        {
            traffic = ip4->GetHeader().GetTos();
            packet.source = Hashed(ip4->GetHeader().GetSource());
            packet.destination = Hashed(ip4->GetHeader().GetDestination());
        }
        else if (Ptr<const Ipv6QueueDiscItem> ip6 = DynamicCast<const Ipv6QueueDiscItem>(item))
        {
            traffic = ip6->GetHeader().GetTrafficClass();
            packet.source = Hashed(ip6->GetHeader().GetSource());
            packet.destination = Hashed(ip6->GetHeader().GetDestination());
        }
        packet.ecn = traffic & 3;
        packet.dscp = traffic >> 2;
        return packet;
    }

    void Decided(const char* what, const sojourn_packet& packet)
    {
        if (m_log)
        {
            m_told += std::string(" ") + what + ":" + std::to_string(packet.number);
        }
    }

    /** Writes a call down. */
    void Write(const std::string& call)
    {
        if (m_log)
        {
            std::fprintf(m_log, "%s |", call.c_str());
            for (const uint64_t drawn : m_drawn)
            {
                std::fprintf(m_log, " %" PRIx64, drawn);
            }
            std::fprintf(m_log, " |%s\n", m_told.c_str());
        }
        m_drawn.clear();
        m_told.clear();
    }

    void MarkIt(Ptr<QueueDiscItem> item, sojourn_packet& packet)
    {
        if (packet.ecn != SOJOURN_CE)
        {
            Mark(item, "marked by the algorithm");
            packet.ecn = SOJOURN_CE;
            Decided("mark", packet);
        }
    }

    bool DoEnqueue(Ptr<QueueDiscItem> item) override
    {
        const uint64_t now = Simulator::Now().GetNanoSeconds();
        CatchUp(now);
        if (m_table->update && m_next == NEVER)
        {
            m_next = (now / m_period + 1) * m_period;
        }
        sojourn_packet packet = Described(item, now);
        char call[160];
        std::snprintf(call, sizeof call, "+ %" PRIu64 " %u %u %u %u %u %u", now, packet.size_bytes, packet.ecn,
                      packet.dscp, packet.flow, packet.source, packet.destination);
        const bool accepted = Accepts(item, packet);
        Write(call);
        return accepted;
    }

    bool Accepts(Ptr<QueueDiscItem> item, sojourn_packet& packet)
    {
        // Not GetCurrentSize(), which counts a packet that the device gave back.
        const QueueSize limit = GetMaxSize();
        const bool isFull = limit.GetUnit() == QueueSizeUnit::PACKETS
                                ? m_waiting.size() >= limit.GetValue()
                                : m_bytes + packet.size_bytes > limit.GetValue();
        if (isFull)
        {
            Decided("drop", packet);
            DropBeforeEnqueue(item, "the queue is full");
            return false;
        }
        Asked asked = Shown(packet.enqueued_ns, true);
        const int32_t answer = m_table->enqueue(m_state.data(), &packet, &asked.seen);
        const bool isCapable = packet.ecn != SOJOURN_NOT_ECT;
        Expect("enqueue", answer, {SOJOURN_ACCEPT, SOJOURN_DROP, isCapable ? SOJOURN_MARK : SOJOURN_DROP},
               "1 (accept), 2 (drop), 3 (mark, of an ECN-capable packet)", &asked);
        if (answer == SOJOURN_DROP)
        {
            Decided("drop", packet);
            DropBeforeEnqueue(item, "dropped by the algorithm");
            return false;
        }
        if (answer == SOJOURN_MARK)
        {
            MarkIt(item, packet);
        }
        m_waiting.push_back(packet);
        m_bytes += packet.size_bytes;
        return GetInternalQueue(0)->Enqueue(item);
    }

    Ptr<QueueDiscItem> DoDequeue() override
    {
        const uint64_t now = Simulator::Now().GetNanoSeconds();
        CatchUp(now);
        Ptr<QueueDiscItem> sent;
        while (!sent && !m_waiting.empty())
        {
            sojourn_packet head = m_waiting.front();
            int32_t answer = SOJOURN_SEND;
            if (m_table->dequeue)
            {
                Asked asked = Shown(now, true);
                answer = m_table->dequeue(m_state.data(), &m_waiting.front(), &asked.seen);
                const bool isCapable = head.ecn != SOJOURN_NOT_ECT;
                Expect("dequeue", answer, {SOJOURN_SEND, SOJOURN_DROP, isCapable ? SOJOURN_MARK : SOJOURN_DROP},
                       "4 (send), 2 (drop), 3 (mark, of an ECN-capable packet)", &asked);
            }
            Ptr<QueueDiscItem> item = GetInternalQueue(0)->Dequeue();
            m_waiting.pop_front();
            m_bytes -= head.size_bytes;
            if (answer == SOJOURN_DROP)
            {
                Decided("drop", head);
                DropAfterDequeue(item, "dropped by the algorithm");
                continue;
            }
            if (answer == SOJOURN_MARK)
            {
                MarkIt(item, head);
            }
            Decided("send", head);
            sent = item;
        }
        Write("- " + std::to_string(now));
        return sent;
    }

    Ptr<const QueueDiscItem> DoPeek() override
    {
        return GetInternalQueue(0)->Peek();
    }

    std::string m_library;
    std::string m_parameters;
    std::string m_decisions;
    DataRate m_rate;
    const sojourn_aqm* m_table = nullptr;
    std::vector<Block> m_state;
    uint64_t m_period = 0;
    /** The next update; none before the first arrival. */
    uint64_t m_next = NEVER;
    /** What the algorithm sees of the packets in the internal queue. */
    std::deque<sojourn_packet> m_waiting;
    uint64_t m_bytes = 0;
    uint64_t m_arrivals = 0;
    Ptr<UniformRandomVariable> m_random;
    /** Of the present call. */
    std::vector<uint64_t> m_drawn;
    std::string m_told;
    std::FILE* m_log = nullptr;
};

NS_OBJECT_ENSURE_REGISTERED(PluggedQueueDisc);

} // namespace ns3

#endif
