//! What simulator and device both report.
