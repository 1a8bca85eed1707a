//! Sender and receiver on a miniature path.
