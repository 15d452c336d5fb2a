//! One thread's time from its context switches: what it did and when, and rows of `slices`.
//!
//! A switch says when a thread stopped and when it went on, not when it was woken in between. The scheduler keeps the
//! time that the thread waited in the run queue as a sum, which is read now and then. What the sum grew by is placed at
//! the ends of the blocks since the last reading, in equal parts.

use super::ticks::{Silent, Ticks};
use crate::build::Builder;
use crate::events::{Event, Spent, Times, WaitSums};
use crate::sources::sleeping::Waits;
use recording::tables::State;
use recording::{ThreadId, WaitId};
use std::collections::BTreeMap;

/// If more than `MOST_PIECES` pieces begin within this time, they are summed up, as in the timeline that is recorded
/// with BPF.
const EPOCH_NS: u64 = 1 << 23;
const MOST_PIECES: usize = 192;

/// What a thread does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Created, and not yet on a processor.
    New,
    Running,
    Blocked,
    Preempted,
    Ended,
}

/// A stretch of time in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    state: State,
    start_ns: u64,
    end_ns: u64,
    wait: Option<WaitId>,
    processor: Option<u32>,
}

impl Piece {
    fn length(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// A thread.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) thread: ThreadId,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) parent: Option<ThreadId>,
    pub(super) name: String,
    pub(super) start_ns: u64,
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
    pub(super) migrations: u64,
    /// How many blocks there were, and for how many of them no reading covers the queue time.
    pub(super) blocks: u64,
    pub(super) unread_blocks: u64,
    pub(super) times: Times,
    phase: Phase,
    since_ns: u64,
    /// The time up to which the sampling clock is accounted for.
    ticked_ns: u64,
    processor: Option<u32>,
    pieces: Vec<Piece>,
    ticks: Ticks,
    /// The queue sum at the last reading that was used; absent when later pieces were emitted without a reading.
    queued_ns: Option<u64>,
    /// Known queue time after that reading, from pieces that were emitted since.
    accounted_ns: u64,
    /// Queue time of the readings that did not fit into the blocks before them.
    left_over_ns: u64,
    /// The thread is in the list of threads to be read.
    pub(super) in_turn: bool,
}

impl Track {
    /// A thread that is created now.
    pub(super) fn new(thread: ThreadId, pid: u32, tid: u32, now_ns: u64, period_ns: u64) -> Track {
        Track {
            thread,
            pid,
            tid,
            parent: None,
            name: String::new(),
            start_ns: now_ns,
            voluntary: 0,
            involuntary: 0,
            migrations: 0,
            blocks: 0,
            unread_blocks: 0,
            times: Times::default(),
            phase: Phase::New,
            since_ns: now_ns,
            ticked_ns: now_ns,
            processor: None,
            pieces: Vec::new(),
            ticks: Ticks::new(period_ns),
            queued_ns: Some(0),
            accounted_ns: 0,
            left_over_ns: 0,
            in_turn: false,
        }
    }

    /// A thread that runs already and had been in the run queue for `queued_ns` before.
    pub(super) fn running(mut self, processor: u32, queued_ns: Option<u64>) -> Track {
        self.phase = Phase::Running;
        self.processor = Some(processor);
        self.queued_ns = queued_ns;
        self
    }

    pub(super) fn ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// When the thread's present block began, if it is blocked.
    pub(super) fn blocked_since(&self) -> Option<u64> {
        (self.phase == Phase::Blocked).then_some(self.since_ns)
    }

    /// How many pieces wait for a reading of the queue sum.
    pub(super) fn pending(&self) -> usize {
        self.pieces.len()
    }

    /// Whether a reading of the queue sum would be useful: a block has ended since the last.
    pub(super) fn has_blocks(&self) -> bool {
        self.pieces.iter().any(|piece| piece.state == State::Blocked)
    }

    /// The thread goes on running. `wait` is the wait of the block that this ends.
    pub(super) fn enter(&mut self, now_ns: u64, processor: u32, wait: Option<WaitId>) {
        let now_ns = now_ns.max(self.since_ns);
        match self.phase {
            Phase::New => self.piece(State::Runnable, now_ns, None),
            Phase::Preempted => self.piece(State::Preempted, now_ns, None),
            Phase::Blocked => self.piece(State::Blocked, now_ns, wait),
            // The record of its stop was lost: how long it had run is not known.
            Phase::Running => self.piece(State::Unknown, now_ns, None),
            Phase::Ended => return,
        }
        self.migrations += u64::from(self.processor.is_some_and(|last| last != processor));
        self.processor = Some(processor);
        self.phase = Phase::Running;
        self.ticked_ns = now_ns;
    }

    /// The thread stops running: to wait, or preempted.
    pub(super) fn leave(&mut self, now_ns: u64, preempted: bool, silent: &mut Silent) {
        if self.phase == Phase::Ended {
            return;
        }
        let now_ns = now_ns.max(self.since_ns);
        self.stop(now_ns, silent);
        self.phase = if preempted { Phase::Preempted } else { Phase::Blocked };
        let counter = if preempted { &mut self.involuntary } else { &mut self.voluntary };
        *counter += 1;
    }

    /// A sample of the thread was taken.
    pub(super) fn sample(&mut self, now_ns: u64, silent: &mut Silent) {
        if let (Phase::Running, Some(processor)) = (self.phase, self.processor) {
            self.tick(now_ns.max(self.ticked_ns), processor, silent);
            self.ticks.sample(processor);
        }
    }

    /// The thread ends, or is no longer watched. `wait` as for `enter`.
    pub(super) fn end(&mut self, now_ns: u64, wait: Option<WaitId>, silent: &mut Silent) {
        let now_ns = now_ns.max(self.since_ns);
        match self.phase {
            Phase::Ended => return,
            Phase::New => self.piece(State::Runnable, now_ns, None),
            Phase::Preempted => self.piece(State::Preempted, now_ns, None),
            Phase::Blocked => self.piece(State::Blocked, now_ns, wait),
            Phase::Running => self.stop(now_ns, silent),
        }
        self.ticks.end(now_ns, silent);
        self.phase = Phase::Ended;
    }

    /// When it ended, or the time of its last record.
    pub(super) fn last_ns(&self) -> u64 {
        self.since_ns
    }

    fn stop(&mut self, now_ns: u64, silent: &mut Silent) {
        if self.phase == Phase::Running {
            if let Some(processor) = self.processor {
                self.tick(now_ns, processor, silent);
            }
            self.piece(State::Running, now_ns, None);
        } else {
            // The record that it ran again was lost.
            self.piece(State::Unknown, now_ns, None);
        }
    }

    fn tick(&mut self, now_ns: u64, processor: u32, silent: &mut Silent) {
        self.ticks.run(processor, now_ns.saturating_sub(self.ticked_ns), now_ns, silent);
        self.ticked_ns = now_ns;
    }

    fn piece(&mut self, state: State, now_ns: u64, wait: Option<WaitId>) {
        if now_ns > self.since_ns {
            let processor = self.processor.filter(|_| state == State::Running);
            self.pieces.push(Piece { state, start_ns: self.since_ns, end_ns: now_ns, wait, processor });
            self.blocks += u64::from(state == State::Blocked);
        }
        self.since_ns = now_ns;
    }

    /// Emits the pieces that ended before a reading of the queue sum, using the reading.
    pub(super) fn settle(&mut self, read_ns: u64, queued_ns: u64, waits: &mut Waits, to: &mut Builder) {
        let met = self.pieces.partition_point(|piece| piece.end_ns <= read_ns);
        let mut pieces: Vec<Piece> = self.pieces.drain(..met).collect();
        match self.queued_ns {
            Some(before) => {
                let known = queueing(&pieces) + std::mem::take(&mut self.accounted_ns);
                let queued = (queued_ns.saturating_sub(before) + self.left_over_ns).saturating_sub(known);
                self.left_over_ns = share_out(&mut pieces, queued);
            }
            None => self.unread_blocks += blocks(&pieces),
        }
        (self.queued_ns, self.accounted_ns) = (Some(queued_ns), 0);
        self.emit(&pieces, waits, to);
    }

    /// Emits all pieces without using a reading.
    pub(super) fn settle_unread(&mut self, waits: &mut Waits, to: &mut Builder) {
        let pieces = std::mem::take(&mut self.pieces);
        self.accounted_ns += queueing(&pieces);
        if blocks(&pieces) > 0 {
            self.unread_blocks += blocks(&pieces);
            // The next reading includes the queue time of these blocks and cannot separate it from that of later ones.
            (self.queued_ns, self.left_over_ns) = (None, 0);
        }
        self.emit(&pieces, waits, to);
    }

    fn emit(&mut self, pieces: &[Piece], waits: &mut Waits, to: &mut Builder) {
        for piece in pieces {
            let sum = match piece.state {
                State::Running => &mut self.times.running_ns,
                State::Runnable => &mut self.times.runnable_ns,
                State::Preempted => &mut self.times.preempted_ns,
                State::Blocked | State::Unknown => &mut self.times.blocked_ns,
            };
            *sum += piece.length();
            match (piece.state, piece.wait) {
                (State::Blocked, Some(wait)) => {
                    let blocked_ns = piece.length();
                    waits.count(wait, WaitSums { count: 1, blocked_ns, runnable_ns: 0, longest_ns: blocked_ns });
                }
                (State::Runnable, Some(wait)) => {
                    waits.count(wait, WaitSums { runnable_ns: piece.length(), ..WaitSums::default() });
                }
                _ => {}
            }
        }
        let mut rest = pieces;
        while let Some(first) = rest.first() {
            let epoch = rest.partition_point(|piece| piece.start_ns < first.start_ns.saturating_add(EPOCH_NS)).max(1);
            let (group, after) = rest.split_at(epoch);
            if group.len() > MOST_PIECES {
                self.emit_sums(group, to);
            } else {
                group.iter().for_each(|piece| to.add(Event::Spent(self.spent(piece))));
            }
            rest = after;
        }
    }

    fn spent(&self, piece: &Piece) -> Spent {
        Spent {
            // A runnable piece has its wait only for the sums.
            wait: piece.wait.filter(|_| piece.state == State::Blocked),
            processor: piece.processor,
            ..Spent::all(self.thread, piece.state, piece.start_ns, piece.end_ns)
        }
    }

    fn emit_sums(&self, group: &[Piece], to: &mut Builder) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let mut sums: BTreeMap<(State, Option<WaitId>), (u64, u32)> = BTreeMap::new();
        for piece in group {
            let wait = piece.wait.filter(|_| piece.state == State::Blocked);
            let sum = sums.entry((piece.state, wait)).or_default();
            *sum = (sum.0 + piece.length(), sum.1 + 1);
        }
        for ((state, wait), (spent_ns, count)) in sums {
            let all = Spent::all(self.thread, state, first.start_ns, last.end_ns);
            to.add(Event::Spent(Spent { spent_ns, count, wait, ..all }));
        }
    }
}

/// Queue time that is known from the switches alone.
fn queueing(pieces: &[Piece]) -> u64 {
    pieces.iter().filter(|piece| matches!(piece.state, State::Preempted | State::Runnable)).map(Piece::length).sum()
}

fn blocks(pieces: &[Piece]) -> u64 {
    pieces.iter().filter(|piece| piece.state == State::Blocked).count() as u64
}

/// Turns the ends of blocks into queue time, `queued_ns` in all, in equal parts as far as the blocks are long enough.
/// Returns what does not fit.
fn share_out(pieces: &mut Vec<Piece>, queued_ns: u64) -> u64 {
    let mut lengths: Vec<u64> = pieces.iter().filter(|p| p.state == State::Blocked).map(Piece::length).collect();
    lengths.sort_unstable();
    // Finds the length that is taken from each block: short blocks become queue time as a whole, the others in equal
    // parts.
    let (mut left, mut level) = (queued_ns, 0);
    for (position, length) in lengths.iter().enumerate() {
        let more = (lengths.len() - position) as u64;
        let each = (length - level).min(left / more);
        level += each;
        left -= each * more;
        if level < *length {
            break;
        }
    }
    if level == 0 {
        return left;
    }
    let mut shared = Vec::with_capacity(pieces.len() * 2);
    for piece in pieces.drain(..) {
        let queued = if piece.state == State::Blocked { level.min(piece.length()) } else { 0 };
        let woken_ns = piece.end_ns - queued;
        if queued == 0 {
            shared.push(piece);
            continue;
        }
        // A block is kept even when its length is 0, for its count and its wait.
        shared.push(Piece { end_ns: woken_ns, ..piece });
        shared.push(Piece { state: State::Runnable, start_ns: woken_ns, ..piece });
    }
    *pieces = shared;
    left
}

#[cfg(test)]
mod tests;
