//! Drops arrivals while the oldest packet has waited for longer than a target, in Zig.
//!
//!     zig translate-c -lc FOLDER_OF/sojourn_aqm.h > sojourn_aqm.zig
//!     zig build-lib -dynamic -O ReleaseSafe -fPIC --name oldest_zig oldest.zig

const aqm = @import("sojourn_aqm.zig");

const State = extern struct {
    target_ns: i64,
    drops: u64,
};

const parameters = [_]aqm.sojourn_parameter{.{
    .name = "target",
    .initial = "20ms",
    .doc = "Age of the head above which arrivals are dropped.",
    .kind = aqm.SOJOURN_TIME,
}};

const internals = [_]aqm.sojourn_internal{.{
    .name = "drops",
    .offset = @offsetOf(State, "drops"),
    .kind = aqm.SOJOURN_UINT64,
}};

fn set_params(at: ?*anyopaque, given: [*c]const aqm.sojourn_value) callconv(.c) i32 {
    const self: *State = @ptrCast(@alignCast(at.?));
    self.target_ns = given[0].whole;
    return aqm.SOJOURN_DONE;
}

fn enqueue(at: ?*anyopaque, _: [*c]const aqm.sojourn_packet, queue: [*c]aqm.sojourn_queue) callconv(.c) i32 {
    const self: *State = @ptrCast(@alignCast(at.?));
    if (queue.*.now_ns - queue.*.oldest_ns <= @as(u64, @intCast(self.target_ns))) return aqm.SOJOURN_ACCEPT;
    self.drops += 1;
    return aqm.SOJOURN_DROP;
}

const table = aqm.sojourn_aqm{
    .version = aqm.SOJOURN_AQM_VERSION,
    .table_bytes = @sizeOf(aqm.sojourn_aqm),
    .name = "oldest_zig",
    .title = "Oldest",
    .summary = "drops arrivals while the oldest packet has waited for longer than a target",
    .source = "an example",
    .signals_on = "age of the head",
    .line_offset = aqm.SOJOURN_NO_LINE,
    .state_bytes = @sizeOf(State),
    .state_align = @alignOf(State),
    .parameters = &parameters,
    .parameters_len = parameters.len,
    .internals = &internals,
    .internals_len = internals.len,
    .init = &set_params,
    .set_params = &set_params,
    .enqueue = &enqueue,
};

export fn sojourn_aqm_plugin() callconv(.c) *const aqm.sojourn_aqm {
    return &table;
}
