/// Sets congestion experienced in the IP header that begins at `ip`, and mends the checksum of IPv4
/// (RFC 3168 section 5; RFC 1624 equation 3). The frame was parsed: it has the header.
pub fn set_ce(frame: &mut [u8], ip: usize) {
    change(frame, ip, |traffic_class| traffic_class | 3);
}

/// Writes a differentiated services codepoint, likewise (RFC 2474 section 3); the ECN bits stay.
pub fn set_dscp(frame: &mut [u8], ip: usize, dscp: u8) {
    change(frame, ip, |traffic_class| dscp << 2 | traffic_class & 3);
}

/// Codepoint and ECN bits are one byte of the first two of either header: IPv4's type of service, IPv6's traffic class.
fn change(frame: &mut [u8], ip: usize, new: impl FnOnce(u8) -> u8) {
    let Some(header) = frame.get_mut(ip..) else { return };
    match header.first().map(|first| first >> 4) {
        Some(4) if header.len() >= 20 => {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] = new(header[1]);
            let new = u16::from_be_bytes([header[0], header[1]]);
            let sum = u16::from_be_bytes([header[10], header[11]]);
            let mended = update(sum, old, new);
            header[10..12].copy_from_slice(&mended.to_be_bytes());
        }
        // Version, traffic class and flow label. No checksum.
        Some(6) if header.len() >= 40 => {
            let class = new(header[0] << 4 | header[1] >> 4);
            header[0] = header[0] & 0xf0 | class >> 4;
            header[1] = class << 4 | header[1] & 0x0f;
        }
        _ => {}
    }
}

/// HC' = ~(~HC + ~m + m').
fn update(sum: u16, old: u16, new: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    total = (total & 0xffff) + (total >> 16);
    total = (total & 0xffff) + (total >> 16);
    !(total as u16)
}
