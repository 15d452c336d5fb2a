//! The records and events that the BPF programs and their loader exchange. `records` is generated from `bpf/shared.h`;
//! this file turns bytes into such records.

mod records;

pub(crate) use records::*;

/// Names of `enum loss`, in its order. Two have no name because nothing is lost: a stack without room is reported at
/// the next hit of its place, and a timeline event without room is kept as a sum.
pub(crate) const LOSSES: [Option<&str>; LOSS_KINDS as usize] = [
    Some("threads"),
    Some("wait places"),
    None,
    Some("wake-up edges"),
    Some("system call counts"),
    Some(LOST_SAMPLES),
    None,
    Some("system call sites"),
    Some(recording::words::DROPPED_CALLS),
    Some("kernel lock waits"),
    Some("marks"),
    Some("other programs"),
    Some("call paths"),
    Some("switches (their times are known)"),
    Some("addresses of connections"),
    Some("requests over HTTP/2 (too many at once on a connection)"),
    Some(recording::words::UNFOLLOWED_STREAMS),
    Some(recording::words::HIDDEN_PROTOCOLS),
];
pub(crate) const LOST_SAMPLES: &str = "samples";

/// Types for which any bytes are a valid value.
///
/// # Safety
/// Only for `repr(C)` types of integers without padding.
pub(crate) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($name:ident)*) => {$(
        // SAFETY: repr(C), integers only, no padding: tests/abi refuses a header with holes.
        unsafe impl Plain for $name {}
        // SAFETY: as above.
        unsafe impl aya::Pod for $name {}
    )*};
}

plain!(Python PythonFrame PythonFrames StackEvent ProbeRecord MarkEvent ThreadRecord ImageSpans PlaceKey PlaceValue EdgeKey EdgeValue CallKey CallValue LockKey LockValue PeerKey PeerValue SocketPath ForeignValue SyscallKey ProcessorRecord Globals Header
    PeriodEvent StretchEvent CallEvent PlaceEvent ExecEvent SampleEvent LeftEvent);

/// The value at the start of the bytes, and what follows it; `None` when there are too few.
pub(crate) fn parse<T: Plain>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (head, rest) = bytes.split_at_checked(size_of::<T>())?;
    // SAFETY: `head` has the size of T, any bytes are a T, and the read does not need alignment.
    Some((unsafe { head.as_ptr().cast::<T>().read_unaligned() }, rest))
}
