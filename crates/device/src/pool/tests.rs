//! Frames lie side by side, and what is written to one stays there. Miri runs these too.

use super::{Frame, Pool};

const FRAME: usize = 256;
const HEADROOM: usize = 64;

fn pool(frames: u32) -> Pool {
    Pool::new(frames, FRAME, HEADROOM).expect("memory")
}

fn all(pool: &mut Pool) -> Vec<Frame> {
    std::iter::from_fn(|| pool.take()).collect()
}

#[test]
fn each_frame_is_given_out_once_and_keeps_its_contents() {
    let mut pool = pool(5);
    let frames = all(&mut pool);
    assert_eq!((frames.len(), pool.free()), (5, 0));
    for frame in &frames {
        let room = pool.room_of(*frame);
        assert_eq!(room.len(), FRAME - HEADROOM);
        room.fill(frame.index() as u8 + 1);
        pool.filled(*frame, FRAME - HEADROOM);
    }
    for frame in frames {
        assert!(pool.contents(frame).iter().all(|byte| *byte == frame.index() as u8 + 1), "{frame:?}");
        pool.give(frame);
    }
    assert_eq!(pool.free(), 5);
}

#[test]
fn a_copy_has_the_same_contents_at_the_same_place_and_no_more() {
    let mut pool = pool(3);
    let from = pool.copy_in(b"contents of a frame").expect("a free frame");
    let (to, beside) = (pool.take().expect("a free frame"), pool.take().expect("a free frame"));
    // As a back end that puts a tag before the contents.
    pool.note_mut(from).offset -= 4;
    pool.note_mut(from).length += 4;
    pool.contents_mut(from)[..4].copy_from_slice(b"tag ");
    pool.copy(from, to);
    assert_eq!(pool.contents(to), b"tag contents of a frame");
    pool.contents_mut(to).fill(0);
    assert_eq!(pool.contents(from), b"tag contents of a frame");
    pool.filled(beside, FRAME);
    assert!(pool.contents(beside).iter().all(|byte| *byte == 0));
}

#[test]
fn what_is_too_long_takes_no_frame_and_the_longest_fits() {
    let mut pool = pool(1);
    assert!(pool.copy_in(&[1; FRAME - HEADROOM + 1]).is_none());
    assert_eq!(pool.free(), 1);
    let frame = pool.copy_in(&[1; FRAME - HEADROOM]).expect("a free frame");
    assert!(pool.copy_in(&[1]).is_none());
    // A port that says that it received more than there is room for is not believed.
    pool.filled(frame, usize::MAX);
    assert_eq!(pool.contents(frame).len(), pool.room());
}

#[test]
fn the_region_is_all_frames_one_after_the_other() {
    let mut pool = pool(4);
    for frame in all(&mut pool) {
        pool.room_of(frame)[0] = frame.index() as u8 + 1;
    }
    let firsts: Vec<u8> = pool.region().chunks(FRAME).map(|frame| frame[HEADROOM]).collect();
    assert_eq!(firsts, [1, 2, 3, 4]);
}
