//! The XDP program: hands each frame to the socket of the queue that it arrived on, and to the kernel where there is none.
//!
//! Where the kernel and the driver can, it notes before the frame when it arrived.
//!
//! They are a few instructions, written out here, so no compiler for BPF is needed. The attachment is a BPF link: it goes
//! with its descriptor, so the kernel takes the traffic over again when the process ends, however it ends.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

// Numbers of linux/bpf.h and linux/if_link.h.
const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// The program takes frames that lie in several buffers, as those over 3.5 kB do on veth.
const XDP_HAS_FRAGS: u32 = 1 << 5;

/// Where the kernel runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    /// In the driver.
    Native,
    /// Before the stack, on any interface.
    Generic,
}

impl Hook {
    const fn flags(self) -> u32 {
        match self {
            Self::Native => 1 << 2,
            Self::Generic => 1 << 1,
        }
    }
}

/// The program in force on an interface; dropped, the interface is the kernel's again.
pub(super) struct Attached {
    _link: OwnedFd,
    _map: OwnedFd,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers, offset, immediate }
}

/// Begins the [`Stamp`]s that the program writes.
const MARK: u64 = 0x736f_6a6f_7572_6e01;

/// Writes a [`Stamp`] before the frame; without room for it the frame goes on without.
const STAMP: [Instruction; 16] = [
    // r6 = r1, the context
    instruction(0xbf, 0x16, 0, 0),
    // r7 = bpf_ktime_get_ns()
    instruction(0x85, 0x00, 0, 5),
    instruction(0xbf, 0x07, 0, 0),
    // bpf_xdp_adjust_meta(r6, -16), or on after these
    instruction(0xbf, 0x61, 0, 0),
    instruction(0xb7, 0x02, 0, -16),
    instruction(0x85, 0x00, 0, 54),
    instruction(0x55, 0x00, 9, 0),
    // r3 = context->data_meta, if 16 bytes are between it and context->data
    instruction(0x61, 0x62, 0, 0),
    instruction(0x61, 0x63, 8, 0),
    instruction(0xbf, 0x31, 0, 0),
    instruction(0x07, 0x01, 0, 16),
    instruction(0x2d, 0x21, 4, 0),
    // r3[0] = the mark, r3[1] = r7
    instruction(0x18, 0x01, 0, MARK as i32),
    instruction(0, 0, 0, (MARK >> 32) as i32),
    instruction(0x7b, 0x13, 0, 0),
    instruction(0x7b, 0x73, 8, 0),
];

/// Redirects by receive queue; passes a frame to the kernel whose queue has no socket.
fn redirect(map: i32, context: u8) -> [Instruction; 6] {
    [
        // r2 = context->rx_queue_index, a word at byte 16 of struct xdp_md
        instruction(0x61, context << 4 | 2, 16, 0),
        // r1 = the map, 64 bits wide
        instruction(0x18, 0x11, 0, map),
        instruction(0, 0, 0, 0),
        // r3 = XDP_PASS, for want of a socket
        instruction(0xb7, 0x03, 0, 2),
        // r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x85, 0x00, 0, 51),
        // return r0
        instruction(0x95, 0x00, 0, 0),
    ]
}

/// What the program writes before a frame: [`MARK`], and nanoseconds of `CLOCK_MONOTONIC`.
pub(super) type Stamp = [u8; 16];

/// When the frame arrived whose stamp this is. The stamp is taken away, so it is not read again for the next frame here.
pub(super) fn arrived_ns(stamp: &mut Stamp) -> Option<u64> {
    let (mark, at) = stamp.split_at_mut(8);
    let is_one = *mark == MARK.to_ne_bytes();
    mark.fill(0);
    at.try_into().ok().map(u64::from_ne_bytes).filter(|_| is_one)
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    hook: u32,
    flags: u32,
}

/// `bpf(2)`.
///
/// # Safety
/// `A` is the structure that `command` reads, and what it points at outlives the call.
unsafe fn bpf<A>(command: i32, attributes: &A) -> io::Result<i32> {
    // SAFETY: as the caller says.
    let outcome =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), std::mem::size_of::<A>()) };
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(outcome as i32)
}

/// # Safety
/// As [`bpf`]; `command` returns a descriptor.
unsafe fn bpf_descriptor<A>(command: i32, attributes: &A) -> io::Result<OwnedFd> {
    // SAFETY: as the caller says; a descriptor that it returns is new and ours.
    unsafe { bpf(command, attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
}

/// Sends what arrives on each of the queues of the interface numbered `interface` to its socket; the queues are in order.
pub(super) fn attach(sockets: &[(u32, RawFd)], interface: u32, hook: Hook) -> io::Result<Attached> {
    let entries = sockets.last().map_or(0, |(queue, _)| queue + 1);
    let create = MapCreate { kind: MAP_TYPE_XSKMAP, key_bytes: 4, value_bytes: 4, entries, ..MapCreate::default() };
    // SAFETY: the structure of this command; it holds no pointer.
    let map = unsafe { bpf_descriptor(MAP_CREATE, &create)? };
    for (queue, socket) in sockets {
        let update = MapUpdate {
            map: map.as_raw_fd() as u32,
            pad: 0,
            key: std::ptr::from_ref(queue) as u64,
            value: std::ptr::from_ref(socket) as u64,
            flags: 0,
        };
        // SAFETY: the structure of this command; key and value are four bytes each, as the map was made, and live on.
        unsafe { bpf(MAP_UPDATE_ELEM, &update)? };
    }
    let stamped = [&STAMP[..], &redirect(map.as_raw_fd(), 6)].concat();
    let plain = redirect(map.as_raw_fd(), 1);
    // Kernels before 5.18 do not know the flag; those before 5.8 tell the time to programs under the GPL alone.
    let program = load(&stamped, XDP_HAS_FRAGS)
        .or_else(|_| load(&stamped, 0))
        .or_else(|_| load(&plain, XDP_HAS_FRAGS))
        .or_else(|_| load(&plain, 0))?;
    let create = LinkCreate { program: program.as_raw_fd() as u32, interface, hook: ATTACH_XDP, flags: hook.flags() };
    // SAFETY: the structure of this command; it holds no pointer.
    let link = unsafe { bpf_descriptor(LINK_CREATE, &create)? };
    Ok(Attached { _link: link, _map: map })
}

fn load(code: &[Instruction], flags: u32) -> io::Result<OwnedFd> {
    let mut name = [0; 16];
    name[..8].copy_from_slice(b"sojournd");
    let program = ProgramLoad {
        kind: PROG_TYPE_XDP,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel: 0,
        flags,
        name,
    };
    // SAFETY: the structure of this command; code and license live until after the call.
    unsafe { bpf_descriptor(PROG_LOAD, &program) }
}
