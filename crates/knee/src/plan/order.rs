//! The order of the runs.
//!
//! Timed runs come in blocks. A block has each thread count of each case once, in random order, so that slow drift
//! (temperature, clock frequency, other tenants of the machine) affects all of them equally, and the analysis may
//! compare within a block (Fisher, "The Design of Experiments", 1935: randomised blocks).

use recording::tables::RunKind;

/// One run to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Position of the case: a variant of the program with one value of each parameter.
    pub(crate) case: usize,
    pub(crate) kind: RunKind,
    pub(crate) threads: u32,
    pub(crate) block: u32,
}

/// How many runs of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) warm_up: u32,
    pub(crate) timed: u32,
    /// Further timed blocks, made when the planned ones leave open whether the program loses time.
    pub(crate) more: u32,
    pub(crate) traced: bool,
}

/// First the warm-up runs, case by case in the order of the counts, then the timed blocks, then one observed run per
/// case and count. The same seed gives the same order. A sweep that takes long observes after its first block instead.
pub(crate) fn plan(cases: usize, counts: &[u32], amounts: Amounts, seed: u64) -> Vec<Planned> {
    let mut random = SplitMix(seed);
    let all: Vec<(usize, u32)> =
        (0..cases).flat_map(|case| counts.iter().map(move |&threads| (case, threads))).collect();
    let mut runs = Vec::new();
    let mut block = |kind, block, all: &[(usize, u32)]| {
        runs.extend(all.iter().map(|&(case, threads)| Planned { case, kind, threads, block }));
    };
    for number in 0..amounts.warm_up {
        block(RunKind::WarmUp, number, &all);
    }
    for number in 0..amounts.timed {
        let mut shuffled = all.clone();
        random.shuffle(&mut shuffled);
        block(RunKind::Clean, number, &shuffled);
    }
    if amounts.traced {
        block(RunKind::Traced, 0, &all);
    }
    runs
}

/// SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators"): small, and unlike a
/// library's generator it will never change its sequence.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fisher-Yates. The bias of the multiplication is below 2⁻⁵⁰ for lists of this length.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = (u128::from(self.next()) * (i as u128 + 1)) >> 64;
            items.swap(i, j as usize);
        }
    }
}

/// The further blocks, made when the planned ones leave something open, numbered from 0.
pub(crate) fn more(cases: usize, counts: &[u32], amounts: Amounts, seed: u64) -> Vec<Planned> {
    let amounts = Amounts { warm_up: 0, timed: amounts.more, more: 0, traced: false };
    // A different order from that of the first blocks.
    plan(cases, counts, amounts, seed.wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNTS: Amounts = Amounts { warm_up: 1, timed: 5, more: 5, traced: true };

    #[test]
    fn every_block_holds_every_count_once() {
        let runs = plan(1, &[1, 2, 4], AMOUNTS, 7);
        assert_eq!(runs.len(), 3 + 15 + 3);
        for block in 0..5 {
            let clean = runs.iter().filter(|r| r.kind == RunKind::Clean && r.block == block);
            let mut counts: Vec<u32> = clean.map(|r| r.threads).collect();
            counts.sort_unstable();
            assert_eq!(counts, [1, 2, 4]);
        }
    }

    #[test]
    fn every_block_holds_every_case_at_every_count() {
        let runs = plan(3, &[1, 2], AMOUNTS, 7);
        assert_eq!(runs.len(), 6 * 7);
        for block in 0..5 {
            let clean = runs.iter().filter(|r| r.kind == RunKind::Clean && r.block == block);
            let mut all: Vec<(usize, u32)> = clean.map(|r| (r.case, r.threads)).collect();
            assert_ne!(all[..2], [(0, 1), (0, 2)], "with this seed no block is in order");
            all.sort_unstable();
            assert_eq!(all, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]);
        }
    }

    #[test]
    fn warm_up_first_traced_last() {
        let kinds: Vec<RunKind> = plan(1, &[2, 1], AMOUNTS, 7).iter().map(|r| r.kind).collect();
        assert_eq!(kinds[..2], [RunKind::WarmUp; 2]);
        assert_eq!(kinds[12..], [RunKind::Traced; 2]);
        assert!(kinds[2..12].iter().all(|k| *k == RunKind::Clean));
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(plan(1, &[1, 2, 4, 8], AMOUNTS, 1), plan(1, &[1, 2, 4, 8], AMOUNTS, 1));
        assert_ne!(plan(1, &[1, 2, 4, 8], AMOUNTS, 1), plan(1, &[1, 2, 4, 8], AMOUNTS, 2));
    }

    #[test]
    fn more_are_timed_blocks_in_another_order() {
        let orders = |runs: Vec<Planned>| -> Vec<(RunKind, u32, u32)> {
            let timed = runs.iter().filter(|run| run.kind == RunKind::Clean);
            timed.map(|run| (run.kind, run.threads, run.block)).collect()
        };
        let (first, more) = (plan(1, &[1, 2, 4], AMOUNTS, 7), more(1, &[1, 2, 4], AMOUNTS, 7));
        assert_eq!(more.len(), 15);
        assert_eq!(orders(more.clone()).len(), 15);
        assert_ne!(orders(first), orders(more));
    }

    #[test]
    fn every_order_occurs() {
        let amounts = Amounts { warm_up: 0, timed: 600, more: 0, traced: false };
        let runs = plan(1, &[1, 2, 4], amounts, 3);
        let mut seen = std::collections::BTreeMap::new();
        for block in runs.chunks(3) {
            *seen.entry(block.iter().map(|r| r.threads).collect::<Vec<_>>()).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        // 100 each on average, with a standard deviation of 9: 55 is five of these below.
        assert!(seen.values().all(|n| *n > 55), "{seen:?}");
    }
}
