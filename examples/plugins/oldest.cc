// Drops arrivals while the oldest packet has waited for longer than a target, in C++.
//
//     g++ -std=c++20 -O2 -ffp-contract=off -fPIC -shared -I FOLDER_OF_sojourn_aqm.h -o liboldest_cc.so oldest.cc
#include "sojourn_aqm.h"

#include <array>
#include <cstddef>

namespace
{

struct State
{
    int64_t target_ns;
    uint64_t drops;
};

const std::array<sojourn_parameter, 1> PARAMETERS{{
    {"target", "20ms", "Age of the head above which arrivals are dropped.", SOJOURN_TIME},
}};

const std::array<sojourn_internal, 1> INTERNALS{{{"drops", offsetof(State, drops), SOJOURN_UINT64}}};

// No exception may leave a function of the table: answer with SOJOURN_RAISED instead.
int32_t set_params(void* at, const sojourn_value* given)
{
    static_cast<State*>(at)->target_ns = given[0].whole;
    return SOJOURN_DONE;
}

int32_t enqueue(void* at, const sojourn_packet*, sojourn_queue* queue)
{
    State& self = *static_cast<State*>(at);
    if (static_cast<int64_t>(queue->now_ns - queue->oldest_ns) <= self.target_ns)
    {
        return SOJOURN_ACCEPT;
    }
    self.drops += 1;
    return SOJOURN_DROP;
}

} // namespace

extern "C" const sojourn_aqm* sojourn_aqm_plugin()
{
    static const sojourn_aqm table = {
        .version = SOJOURN_AQM_VERSION,
        .table_bytes = sizeof(sojourn_aqm),
        .name = "oldest_cc",
        .title = "Oldest",
        .summary = "drops arrivals while the oldest packet has waited for longer than a target",
        .source = "an example",
        .signals_on = "age of the head",
        .limit = nullptr,
        .period = nullptr,
        .file = nullptr,
        .flags = 0,
        .line_offset = SOJOURN_NO_LINE,
        .state_bytes = sizeof(State),
        .state_align = alignof(State),
        .parameters = PARAMETERS.data(),
        .parameters_len = PARAMETERS.size(),
        .internals = INTERNALS.data(),
        .internals_len = INTERNALS.size(),
        .init = set_params,
        .set_params = set_params,
        .enqueue = enqueue,
        .dequeue = nullptr,
        .update = nullptr,
    };
    return &table;
}
