//! Mutations of inputs that are pieces one after another, each with a length in front: frames, captures.

use crate::Draw;

/// Changes the pieces: one is dropped, doubled, moved, or changed by `inside`.
pub fn mutate(pieces: &mut Vec<Vec<u8>>, draw: &mut Draw, inside: impl Fn(&mut Vec<u8>, &mut Draw)) {
    for _ in 0..=draw.below(3) {
        if pieces.is_empty() {
            return;
        }
        let at = draw.below(pieces.len());
        let other = draw.below(pieces.len());
        match draw.below(8) {
            0 if pieces.len() > 1 => {
                pieces.remove(at);
            }
            1 => pieces.insert(other, pieces[at].clone()),
            2 => pieces.swap(at, other),
            _ => inside(&mut pieces[at], draw),
        }
    }
}

/// Changes bytes: one bit, one byte, a run, the length.
pub fn bytes(piece: &mut Vec<u8>, draw: &mut Draw) {
    let at = draw.below(piece.len());
    match draw.below(6) {
        0 if !piece.is_empty() => piece[at] ^= 1 << draw.below(8),
        1 if !piece.is_empty() => piece[at] = *draw.of(&[0, 1, 0x7f, 0x80, 0xff, 6, 17, 43, 44, 60]),
        2 if !piece.is_empty() => piece[at] = draw.below(256) as u8,
        3 => piece.truncate(at),
        4 => {
            let byte = draw.below(256) as u8;
            let length = *draw.of(&[1, 2, 4, 8, 64, 700]);
            piece.splice(at..at, std::iter::repeat_n(byte, length));
        }
        _ if piece.len() >= at + 4 => {
            let word = *draw.of(&[0_u32, 1, 0xffff_ffff, 0x7fff_ffff, 64, 0xffff, 0x0100_0000]);
            piece[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        _ => piece.push(0),
    }
}
