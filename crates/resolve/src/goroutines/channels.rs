//! The channels that a goroutine waits on: whether it waits only for the clock.
//!
//! A goroutine that receives from a ticker, or from `time.After`, waits in the same functions as one that receives work.
//! The channel tells them apart: since Go 1.23 it names the timer that feeds it (`hchan` in runtime/chan.go).

use super::GoroutineRecords;
use std::collections::BTreeSet;

/// How much of a stack is searched for channels, bytes: a few small frames of the runtime (300 to 500 bytes), and the frame
/// of the function that waits, which holds the cases of a `select`.
const SEARCHED: usize = 4096;

/// How many of the goroutines that wait on a channel are searched.
const QUEUE: usize = 8;

/// The indexes of a channel's words, in Go 1.23 to 1.26.
mod channel {
    pub(super) const WORDS: usize = 11;
    /// The size of an element, in the lowest 16 bits.
    pub(super) const ELEMENT: usize = 3;
    /// The timer that feeds it.
    pub(super) const TIMER: usize = 4;
    /// The first goroutine that waits to receive.
    pub(super) const RECEIVERS: usize = 8;
    /// The first goroutine that waits to send.
    pub(super) const SENDERS: usize = 10;
}

/// The indexes of the words of an entry in a channel's queue (`sudog` in runtime/runtime2.go).
mod queued {
    pub(super) const WORDS: usize = 2;
    pub(super) const GOROUTINE: usize = 0;
    pub(super) const NEXT: usize = 1;
}

impl GoroutineRecords {
    /// Whether the goroutine of this record waits for the clock: on a timer's channel, and otherwise at most on channels
    /// that carry no values, which are used to ask a goroutine to stop. `stack`: its stack from the stack pointer on.
    pub fn waits_for_timer(&self, record: u64, stack: &[u8]) -> bool {
        let words = stack.as_chunks().0.iter().take(SEARCHED / 8).copied().map(u64::from_le_bytes);
        // Channels are aligned to eight bytes, and nothing lies in the first page.
        let addresses: BTreeSet<u64> = words.filter(|word| *word >= 4096 && word % 8 == 0).collect();
        let (mut timer, mut work) = (false, false);
        for channel in addresses.into_iter().filter_map(|address| self.words::<{ channel::WORDS }>(address)) {
            let receives = self.is_queued(record, channel[channel::RECEIVERS]);
            if receives && channel[channel::TIMER] != 0 {
                timer = true;
            } else if receives || self.is_queued(record, channel[channel::SENDERS]) {
                work |= channel[channel::ELEMENT] & 0xffff != 0;
            }
        }
        timer && !work
    }

    /// Whether a goroutine is among the first of a queue.
    fn is_queued(&self, record: u64, first: u64) -> bool {
        let mut at = first;
        for _ in 0..QUEUE {
            let Some(place) = (at >= 4096).then(|| self.words::<{ queued::WORDS }>(at)).flatten() else { return false };
            if place[queued::GOROUTINE] == record {
                return true;
            }
            at = place[queued::NEXT];
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address of a goroutine's record: only compared.
    const RECORD: u64 = 0x7000;

    /// A channel with the size of its elements, whether a timer feeds it, and who waits to receive.
    struct Channel {
        words: Box<[u64; channel::WORDS]>,
        queue: Vec<[u64; queued::WORDS]>,
    }

    fn channel(element: u64, timer: bool, receivers: &[u64]) -> Channel {
        let mut queue: Vec<[u64; queued::WORDS]> = receivers.iter().map(|receiver| [*receiver, 0]).collect();
        for at in 1..queue.len() {
            queue[at - 1][queued::NEXT] = queue[at].as_ptr() as u64;
        }
        let mut words = Box::new([0; channel::WORDS]);
        // The upper half holds the flag for a closed channel.
        words[channel::ELEMENT] = element | 1 << 32;
        words[channel::TIMER] = if timer { 0x5000 } else { 0 };
        words[channel::RECEIVERS] = queue.first().map_or(0, |place| place.as_ptr() as u64);
        Channel { words, queue }
    }

    fn waits_for_timer(channels: &[&Channel]) -> bool {
        let records = GoroutineRecords::of_process(std::process::id()).expect("this process's own memory");
        let mut stack = vec![3, u64::MAX - 7, RECORD];
        stack.extend(channels.iter().map(|channel| channel.words.as_ptr() as u64));
        let stack: Vec<u8> = stack.into_iter().flat_map(u64::to_le_bytes).collect();
        records.waits_for_timer(RECORD, &stack)
    }

    #[test]
    fn a_receiver_from_a_timer_waits_for_the_clock() {
        assert!(waits_for_timer(&[&channel(24, true, &[RECORD])]));
        assert!(waits_for_timer(&[&channel(24, true, &[1, 2, RECORD])]), "behind others");
    }

    #[test]
    fn a_channel_without_values_only_asks_to_stop() {
        let (timer, stop) = (channel(24, true, &[RECORD]), channel(0, false, &[RECORD]));
        assert!(waits_for_timer(&[&stop, &timer]));
    }

    /// The near misses: work with a time limit; work alone; a timer that another goroutine waits for.
    #[test]
    fn a_receiver_of_work_does_not_wait_for_the_clock() {
        let (timer, work) = (channel(24, true, &[RECORD]), channel(8, false, &[RECORD]));
        assert!(!waits_for_timer(&[&timer, &work]));
        assert!(!waits_for_timer(&[&work]));
        assert!(!waits_for_timer(&[&channel(24, true, &[RECORD + 8]), &work]));
        assert!(!waits_for_timer(&[&channel(24, true, &[])]));
    }

    /// An address that an earlier call left on the stack does not mean that the goroutine waits on that channel now.
    #[test]
    fn a_channel_that_it_waited_on_before_does_not_count() {
        let (timer, before) = (channel(24, true, &[RECORD]), channel(8, false, &[1]));
        assert!(waits_for_timer(&[&before, &timer]));
    }

    /// Go's queues end, but a damaged one may lead in a circle.
    #[test]
    fn the_search_of_a_circular_queue_ends() {
        let mut round = channel(24, true, &[1]);
        let first = round.words[channel::RECEIVERS];
        round.queue[0][queued::NEXT] = first;
        assert!(!waits_for_timer(&[&round]));
    }
}
