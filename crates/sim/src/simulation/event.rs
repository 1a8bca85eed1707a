//! The events of a run.

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A packet reaches its receiver.
    Deliver(u32),
    /// A packet reaches a port that runs a discipline.
    Enqueue(u32),
    /// The next of the packets on their way to a port that is not lazy reaches it.
    Approach(u32),
    /// A packet reaches a line.
    Cross(u32),
    /// A line drops a packet.
    Lose(u32),
    /// Losses are put in order.
    Tell,
    /// A line is looked at before what it sends can be seen.
    Look(u32),
    /// A port has finished sending and may have more, or is looked at as a line is.
    Free(u32),
    /// A station looks at the channel again.
    Retry(u32),
    /// A back-off of a cell may have ended.
    Access(u32),
    /// A shaper's packet may go.
    Release(u32),
    /// A flow begins.
    Start(u32),
    /// A flow's application ends.
    Stop(u32),
    /// A source hands over its next packet, or an application that has waited begins to write.
    Emit(u32),
    /// A sender's retransmission timer may have expired.
    Retransmit(u32),
    /// It does: what arrives at this instant has arrived.
    RetransmitNow(u32),
    /// A sender's pacing gap may be over.
    Pace(u32),
    /// It is: what arrives at this instant has arrived.
    PaceNow(u32),
    /// A receiver's delayed acknowledgement may be due.
    Acknowledge(u32),
    /// It is: what arrives at this instant has arrived.
    AcknowledgeNow(u32),
    /// A time that an application's client, or its connection of this flow, asked for.
    Client(u32),
    /// A self probe of a flow is answered.
    Probe(u32),
    /// The warm-up is over.
    Measure,
    /// A point of the time series.
    Sample,
    /// A phase of the scenario's timeline begins.
    Phase(u32),
    /// A change of the scenario's timeline.
    Change(u32),
}

impl Event {
    /// A packet arrives somewhere, which is on its way until then.
    pub fn is_arrival(self) -> bool {
        matches!(self, Self::Deliver(_) | Self::Enqueue(_) | Self::Cross(_) | Self::Lose(_))
    }
}
