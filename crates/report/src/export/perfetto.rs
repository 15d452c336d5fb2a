//! A trace for Perfetto: one track per thread with its states as slices, arrows from wakers, the program's tasks, and
//! how many threads run (<https://perfetto.dev/docs/reference/synthetic-track-event>).

use super::names::clean;
use super::wire::Message;
use crate::lanes::{Timeline, tasks};
use crate::observed::Observed;
use recording::ThreadId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

// Numbers of fields and values: protos/perfetto/trace/trace_packet.proto and track_event/*.proto.
const PACKET: u32 = 1;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const INTERNED: u32 = 12;
const SEQUENCE_FLAGS: u32 = 13;
const TRACK_DESCRIPTOR: u32 = 60;
const EVENT_TYPE: u32 = 9;
const NAME_IID: u32 = 10;
const TRACK: u32 = 11;
const CATEGORY: u32 = 22;
const COUNTER_VALUE: u32 = 30;
const FLOW: u32 = 47;
const FLOW_END: u32 = 48;
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// Order of events on one track at the same time: an end comes before a start, a waker's event before the wakee's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    End,
    Wake,
    Begin,
    Count,
}

struct Events {
    /// By time, then by order.
    rows: Vec<(u64, Order, Message)>,
    names: HashMap<String, u64>,
}

impl Events {
    fn name(&mut self, name: &str) -> u64 {
        let next = self.names.len() as u64 + 1;
        *self.names.entry(name.to_owned()).or_insert(next)
    }

    fn push(&mut self, time: u64, order: Order, event: Message) {
        self.rows.push((time, order, event));
    }

    /// A slice of a track; `after` is the flow (arrow) that ends at its start.
    fn slice(&mut self, track: u64, (start, end): (u64, u64), name: &str, category: &str, after: Option<u64>) {
        let iid = self.name(name);
        let mut begin = event(SLICE_BEGIN, track).number(NAME_IID, iid).text(CATEGORY, category);
        if let Some(flow) = after {
            begin = begin.fixed(FLOW_END, flow);
        }
        self.push(start, Order::Begin, begin);
        self.push(end, Order::End, event(SLICE_END, track));
    }
}

fn event(kind: u64, track: u64) -> Message {
    Message::default().number(EVENT_TYPE, kind).number(TRACK, track)
}

/// Tracks of threads, of their tasks, and the counter.
fn thread_track(thread: ThreadId) -> u64 {
    0x1000_0000_0000 + u64::from(thread.0)
}
fn task_track(thread: ThreadId, depth: usize) -> u64 {
    0x2000_0000_0000 + ((u64::from(thread.0) << 8) | depth.min(255) as u64)
}
const RUNNING_TRACK: u64 = 0x3000_0000_0000;

/// Writes a run.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(observed: &Observed<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
    let timeline = Timeline::new(observed, usize::MAX);
    let mut events = Events { rows: Vec::new(), names: HashMap::new() };
    let mut tracks = Vec::new();
    for lane in &timeline.lanes {
        if let Some(t) = observed.traced.threads.get(&lane.thread) {
            let name = clean(&t.name);
            // Thread ids are never 0. A process is named after its main thread.
            let process = observed.traced.threads.values().find(|m| m.pid == t.pid && m.tid == m.pid);
            let process = process.map_or_else(|| name.clone(), |m| clean(&m.name));
            let thread = Message::default().number(1, t.pid.into()).number(2, t.tid.into()).text(5, &name);
            tracks.push(Message::default().number(1, thread_track(t.thread)).inside(4, &thread));
            if t.tid == t.pid {
                let process = Message::default().number(1, t.pid.into()).text(6, &process);
                tracks.push(Message::default().number(1, 0x4000_0000_0000 + u64::from(t.pid)).inside(3, &process));
            }
        }
    }
    states(observed, &timeline, &mut events);
    let mut known = BTreeSet::new();
    for task in tasks::tasks(observed) {
        if !observed.traced.threads.contains_key(&task.thread) || task.end <= task.start {
            continue;
        }
        let track = task_track(task.thread, task.depth);
        if known.insert(track) {
            tracks.push(Message::default().number(1, track).number(5, thread_track(task.thread)).text(2, "tasks"));
        }
        events.slice(track, (task.start, task.end), &clean(task.name), "task", None);
    }
    running(&timeline, &mut tracks, &mut events);
    write(events, &tracks, out)
}

fn states(observed: &Observed<'_, '_>, timeline: &Timeline, events: &mut Events) {
    let mut flow = 0;
    for lane in &timeline.lanes {
        let track = thread_track(lane.thread);
        let mut woken: Option<u64> = None;
        for (i, span) in lane.spans.iter().enumerate() {
            let Some(kind) = timeline.kinds.get(span.kind as usize) else { continue };
            let mut name = if kind.label.is_empty() { kind.class.name().to_owned() } else { clean(&kind.label) };
            if span.mix > 0 {
                name = format!("mostly {name}");
            }
            events.slice(track, (span.start, span.end), &name, kind.class.key(), woken.take());
            // An arrow needs a slice to end at: nothing follows the last slice of a lane.
            if let (Some(waker), 0) = (kind.waker.filter(|waker| waker.is_sure()).map(|waker| waker.thread), span.mix)
                && waker != lane.thread
                && i + 1 < lane.spans.len()
                && observed.traced.threads.contains_key(&waker)
            {
                flow += 1;
                let iid = events.name(&format!("wakes {}", clean(&observed.thread(lane.thread))));
                let wakes = event(INSTANT, thread_track(waker)).number(NAME_IID, iid).text(CATEGORY, "wake");
                events.push(span.end, Order::Wake, wakes.fixed(FLOW, flow));
                woken = Some(flow);
            }
        }
    }
}

/// The number of running threads, at each time when it changes.
fn running(timeline: &Timeline, tracks: &mut Vec<Message>, events: &mut Events) {
    tracks.push(Message::default().number(1, RUNNING_TRACK).text(2, "threads running").inside(8, &Message::default()));
    let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
    for span in timeline.lanes.iter().flat_map(|l| &l.spans) {
        // A summed-up stretch does not tell when its thread ran.
        if span.mix == 0 && timeline.class(span.kind).runs() {
            *changes.entry(span.start).or_default() += 1;
            *changes.entry(span.end).or_default() -= 1;
        }
    }
    let mut now = 0_i64;
    for (time, change) in changes.into_iter().filter(|(_, change)| *change != 0) {
        now += change;
        events.push(time, Order::Count, event(COUNTER, RUNNING_TRACK).number(COUNTER_VALUE, now.max(0) as u64));
    }
}

fn write(mut events: Events, tracks: &[Message], out: &mut dyn Write) -> io::Result<()> {
    let mut packet = |packet: Message| -> io::Result<()> {
        let packet = packet.number(SEQUENCE, 1);
        out.write_all(Message::default().inside(PACKET, &packet).bytes())
    };
    let mut names: Vec<(&String, &u64)> = events.names.iter().collect();
    names.sort_by_key(|(_, iid)| **iid);
    let mut interned = Message::default();
    for (name, iid) in names {
        interned = interned.inside(2, &Message::default().number(1, *iid).text(2, name));
    }
    packet(Message::default().inside(INTERNED, &interned).number(SEQUENCE_FLAGS, CLEARED))?;
    for track in tracks {
        packet(Message::default().inside(TRACK_DESCRIPTOR, track))?;
    }
    events.rows.sort_by_key(|(time, order, _)| (*time, *order));
    for (time, _, event) in events.rows {
        let whole = Message::default().number(TIMESTAMP, time).inside(TRACK_EVENT, &event);
        packet(whole.number(SEQUENCE_FLAGS, NEEDS_STATE))?;
    }
    Ok(())
}
