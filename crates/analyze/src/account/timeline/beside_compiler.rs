//! A runtime's compiler on processors that the program left idle. That time is lost to what the program's threads waited
//! for and not to the compiler, which would have compiled later, or not at all, if they had been busy.

use crate::account::lines::LineId;
use crate::account::parts::{LossPart, Parts};
use crate::account::pieces::{Activity, Tier};
use std::collections::BTreeMap;

/// What threads waited for while a compiler's threads ran, from one traced run.
#[derive(Debug, Clone, Default)]
pub struct BesideCompiler {
    /// Seconds that the compiler's threads ran.
    compiled: f64,
    /// The part of it in which blocked threads could have used the processors, by what they waited for.
    waited: BTreeMap<Activity, f64>,
}

impl BesideCompiler {
    /// Some time passes in which the compiler ran with weight `compiling`, on `free` processors that no other thread was
    /// ready to use, while `idle` were idle anyway. `present`: the weight of all threads by what they do. As for idle
    /// processors, the first tier is charged before the second one.
    pub(in crate::account) fn passes(
        &mut self,
        compiling: i64,
        free: i64,
        idle: i64,
        present: impl Iterator<Item = (Activity, i64)> + Clone,
        time: f64,
    ) {
        self.compiled += compiling as f64 * time;
        let mut left = free as f64;
        // Waiting threads already account for the processors that are idle.
        let mut before = idle as f64;
        for tier in [Tier::First, Tier::Second] {
            let of_tier = |(kind, weight): (Activity, i64)| {
                (matches!(kind, Activity::Blocked(_)) && kind.tier() == tier && weight > 0).then_some((kind, weight))
            };
            let all: i64 = present.clone().filter_map(of_tier).map(|(_, weight)| weight).sum();
            let charged = before.min(all as f64);
            before -= charged;
            let taken = left.min(all as f64 - charged);
            if taken <= 0.0 {
                continue;
            }
            left -= taken;
            for (kind, weight) in present.clone().filter_map(of_tier) {
                *self.waited.entry(kind).or_default() += weight as f64 / all as f64 * taken * time;
            }
        }
    }

    /// Moves the compiler's part of a loss to what threads waited for meanwhile.
    pub(in crate::account) fn give_back(&self, parts: Vec<LossPart>) -> Vec<LossPart> {
        if self.compiled <= 0.0 || self.waited.is_empty() {
            return parts;
        }
        let mut moved = Parts::default();
        for part in parts {
            if part.id != LineId::Compiling || part.seconds <= 0.0 {
                moved.add_sampled(part.id, part.seconds, part.variance);
                continue;
            }
            let mut rest = 1.0;
            for (kind, waited) in &self.waited {
                let Activity::Blocked(why) = *kind else { continue };
                let share = waited / self.compiled;
                rest -= share;
                moved.add_sampled(LineId::blocked(why), part.seconds * share, part.variance * share * share);
            }
            moved.add_sampled(part.id, part.seconds * rest, part.variance * rest * rest);
        }
        moved.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::lines::Why;
    use crate::account::pieces::ONE;

    const LOCK: Activity = Activity::Blocked(Why::Lock);
    const QUEUE: Activity = Activity::Blocked(Why::Condition);

    /// What a compiler's second is lost to, in percent. No thread was ready to use `free` of its processors.
    fn lost(free: i64, idle: i64, present: &[(Activity, i64)]) -> Vec<(LineId, i32)> {
        let mut beside = BesideCompiler::default();
        let present = present.iter().map(|(kind, weight)| (*kind, weight * ONE));
        beside.passes(ONE, free * ONE, idle * ONE, present, 1.0 / ONE as f64);
        let parts = beside.give_back(vec![LossPart::exact(LineId::Compiling, 1.0)]);
        parts.iter().map(|part| (part.id, (part.seconds * 100.0).round() as i32)).collect()
    }

    #[test]
    fn blocked_threads_could_have_used_the_processor() {
        assert_eq!(lost(1, 0, &[(LOCK, 1)]), [(LineId::Blocked(Why::Lock), 100)]);
        // Of two tiers the first one is charged.
        let both = lost(1, 0, &[(LOCK, 1), (QUEUE, 3)]);
        assert_eq!(both, [(LineId::Blocked(Why::Lock), 100)]);
    }

    #[test]
    fn nobody_could_have_used_it() {
        // A ready thread wants the processor; no thread waits; a thread that waits is charged with an idle processor.
        assert_eq!(lost(0, 0, &[(LOCK, 1)]), [(LineId::Compiling, 100)]);
        assert_eq!(lost(1, 0, &[(Activity::Running, 1)]), [(LineId::Compiling, 100)]);
        assert_eq!(lost(1, 1, &[(LOCK, 1)]), [(LineId::Compiling, 100)]);
        assert_eq!(lost(1, 0, &[(Activity::Blocked(Why::Join), 1)]), [(LineId::Compiling, 100)]);
    }
}
