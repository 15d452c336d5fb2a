//! How much of a processor decoding may take while a program is observed.
//!
//! Code that is met for the first time costs a hundred microseconds to decode, and a virtual machine's compiler or an
//! interpreter of a million instructions is met at new addresses all the time. Memory that threads fight for shows
//! at the same few instructions again and again. So, above the budget, an address is only decoded when it comes
//! again.

use std::collections::HashSet;

/// Decides: how much of the time decoding may take before addresses that come once are left out: one part in this many.
/// From: chosen: with the stacks and the rows, knee then takes some 5 % of one processor.
/// Shown by: `above_the_budget_an_address_must_come_again`.
/// Wrong if: threads fight for memory at so many instructions that hardly any is sampled twice.
const ONE_IN: u64 = 50;

/// Decides: how long decoding may take at the start, whatever has passed, nanoseconds.
/// From: chosen: the code of a small program is decoded in less.
/// Shown by: `above_the_budget_an_address_must_come_again`.
/// Wrong if: never; it only moves the point from which addresses must come again.
const AT_FIRST_NS: u64 = 20_000_000;

/// Keeps decoding within its budget.
#[derive(Debug, Default)]
pub(super) struct Effort {
    began_ns: Option<u64>,
    spent_ns: u64,
    /// Address spaces and code addresses that were sampled.
    seen: HashSet<(u32, u64)>,
}

impl Effort {
    /// Whether the code at this address may be decoded now.
    pub(super) fn allows(&mut self, space: u32, address: u64, now_ns: u64) -> bool {
        let began = *self.began_ns.get_or_insert(now_ns);
        let again = !self.seen.insert((space, address));
        again || self.spent_ns <= AT_FIRST_NS + now_ns.saturating_sub(began) / ONE_IN
    }

    /// Decoding took so long, nanoseconds.
    pub(super) fn spend(&mut self, ns: u64) {
        self.spent_ns = self.spent_ns.saturating_add(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_the_budget_an_address_must_come_again() {
        let mut effort = Effort::default();
        assert!(effort.allows(0, 1, 0), "the first one");
        effort.spend(AT_FIRST_NS);
        assert!(effort.allows(0, 2, 1_000), "within what is free at first");
        effort.spend(1_000_000);
        assert!(!effort.allows(0, 3, 2_000), "above it");
        assert!(effort.allows(0, 3, 3_000), "it comes again");
        assert!(effort.allows(0, 1, 4_000), "known already");
        assert!(!effort.allows(1, 3, 5_000), "the same address in another process");
        assert!(effort.allows(0, 4, 1_000_000 * ONE_IN + 6_000), "time has passed");
    }
}
