//! What a receiver counts.

use sojourn_units::Bytes;

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ReceiverStats {
    /// Data segments that arrived.
    pub segments: u64,
    /// Acknowledgements sent, window updates included, SYN-ACKs not.
    pub acks: u64,
    /// Of the segments, those that brought nothing new.
    pub duplicate_segments: u64,
    /// Payload that had arrived before.
    pub duplicate_bytes: Bytes,
    /// Segments that arrived above a hole.
    pub out_of_order_segments: u64,
    /// Segments that arrived marked.
    pub ce_segments: u64,
    /// SYN-ACKs sent.
    pub syn_acks: u64,
    /// Acknowledgements sent because the application has read.
    pub window_updates: u64,
}
