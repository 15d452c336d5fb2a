//! Lanes from coarse to fine, as many levels as the page has room for.

use super::pack::{Compressor, Packed, write_spans, write_stretches};
use crate::html::page::Medium;
use crate::lanes::Drawing;
use crate::lanes::levels::bucketed;
use crate::observed::Observed;
use crate::words;
use serde_json::{Value, json};
use std::io;
use std::ops::ControlFlow;

/// Bytes of compressed lanes in the page. Base64 adds a third; the whole page stays below 15 MB.
const LANES_BYTES: usize = 9 << 20;
/// No level but a run's first may take more bytes than this, so that most pages stay near 3 MB.
const SOFT_BYTES: usize = 1_600_000;
/// Buckets of the coarsest level: more than a 4K screen has columns (3840).
const COARSEST: u64 = 4096;
/// Each level is this many times finer than the one before.
const FINER: u64 = 8;

/// The levels of one run.
#[derive(Debug, Default)]
pub(super) struct Levels {
    pub(super) levels: Vec<Value>,
    /// True when no sample tells what some span was.
    pub(super) unsampled: bool,
    /// Spans of all lanes, once they have been looked at.
    spans: Option<usize>,
    closed: bool,
}

/// From coarse to fine, over all runs in turn, so that a large run does not take up the space of the others.
pub(super) fn levels(
    all: &[Observed<'_, '_>],
    drawings: &[Drawing<'_, '_>],
    medium: Medium,
    packed: &mut Packed,
) -> io::Result<Vec<Levels>> {
    let mut made: Vec<Levels> = drawings.iter().map(|_| Levels::default()).collect();
    let mut used = 0;
    let mut count = COARSEST;
    while made.iter().any(|run| !run.closed) {
        for (i, ((run, drawing), observed)) in made.iter_mut().zip(drawings).zip(all).enumerate() {
            if run.closed {
                continue;
            }
            let first = run.levels.is_empty();
            let room = LANES_BYTES.saturating_sub(used).min(if first { usize::MAX } else { SOFT_BYTES });
            // When buckets are no coarser than the spans, the spans themselves are the better picture.
            let buckets = count.saturating_mul(drawing.threads().len() as u64);
            let is_exact = |spans| buckets >= 2 * spans as u64 || drawing.bare().length() / count < 1000;
            let (exact, bytes) = match run.spans.map(is_exact) {
                Some(exact) => (exact, packed_lanes(drawing, (!exact).then_some(count), room)?.bytes),
                None => {
                    // How many spans there are is known behind the first level: mostly they are too many.
                    let level = packed_lanes(drawing, Some(count), usize::MAX)?;
                    run.unsampled = level.unsampled;
                    run.spans = Some(level.spans);
                    match is_exact(level.spans) {
                        true => (true, packed_lanes(drawing, None, room)?.bytes),
                        false => (false, level.bytes.filter(|bytes| bytes.len() <= room)),
                    }
                }
            };
            if let Some(bytes) = bytes {
                used += bytes.len();
                let id = format!("lanes-{i}-{}", run.levels.len());
                run.levels.push(json!({ "id": id, "count": if exact { 0 } else { count } }));
                packed.keep(id, bytes);
                run.closed = exact || medium == Medium::Served;
            } else {
                run.closed = true;
                let finest = drawing.bare().length() as f64 / 1e9 / (count / FINER) as f64;
                packed.thinned.push(format!(
                    "With {} the picture shows nothing shorter than {}, to keep the page small; knee view shows it all.",
                    observed.traced.count(),
                    words::time(finest)
                ));
            }
        }
        count *= FINER;
    }
    Ok(made)
}

/// All lanes of a run, compressed.
struct PackedLanes {
    /// None when they took more room than there is.
    bytes: Option<Vec<u8>>,
    spans: usize,
    unsampled: bool,
}

/// Every lane, divided into so many buckets, or as it was recorded. Ends as soon as the compressed bytes need more than
/// `room`: a level that does not fit may be many times as large.
fn packed_lanes(drawing: &Drawing<'_, '_>, count: Option<u64>, room: usize) -> io::Result<PackedLanes> {
    let mut compressor = Compressor::default();
    let mut found = PackedLanes { bytes: None, spans: 0, unsampled: false };
    let mut outcome = Ok(());
    drawing.each(
        |lane, unsampled| {
            let mut bytes = Vec::new();
            match count {
                Some(count) => write_stretches(&bucketed(drawing.bare(), &lane, count), &mut bytes),
                None => write_spans(&lane.spans, drawing.bare().begin, &mut bytes),
            }
            (bytes, lane.spans.len(), unsampled)
        },
        |(bytes, spans, unsampled)| {
            found.spans += spans;
            found.unsampled |= unsampled;
            outcome = compressor.add(&bytes);
            if outcome.is_ok() && compressor.len() <= room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    outcome?;
    let bytes = compressor.finish()?;
    found.bytes = (bytes.len() <= room).then_some(bytes);
    Ok(found)
}
