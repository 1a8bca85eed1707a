/// Sets congestion experienced in the IP header that begins at `ip`, and mends the checksum of IPv4
/// (RFC 3168 section 5; RFC 1624 equation 3). The frame was parsed: it has the header.
pub fn set_ce(frame: &mut [u8], ip: usize) {
    let Some(header) = frame.get_mut(ip..) else { return };
    match header.first().map(|first| first >> 4) {
        Some(4) if header.len() >= 20 => {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] |= 3;
            let new = u16::from_be_bytes([header[0], header[1]]);
            let sum = u16::from_be_bytes([header[10], header[11]]);
            let mended = update(sum, old, new);
            header[10..12].copy_from_slice(&mended.to_be_bytes());
        }
        // Version, traffic class and flow label: ECN is the last two bits of the class. No checksum.
        Some(6) if header.len() >= 40 => header[1] |= 0x30,
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
