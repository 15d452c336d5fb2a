//! A simulated machine: its runs scatter and drift in a given way, reproducibly for a seed.
#![allow(dead_code, reason = "each test file uses a part")]

use analyze::statistics::SplitMix64;
use recording::Tables;
use recording::synthetic::Sketch;

/// A machine that gets faster and slower by itself. Runs are made one after the other, in random order inside a block.
pub(crate) struct Machine {
    pub(crate) random: SplitMix64,
    /// By which factor drift changed the time of each run so far.
    pub(crate) factors: Vec<f64>,
    /// The same for the last sweep, by case.
    pub(crate) by_case: Vec<Vec<f64>>,
    /// Size of a run's own noise, a share: the standard deviation where it is normal.
    pub(crate) noise: f64,
    pub(crate) shape: Shape,
    pub(crate) drift: Drift,
}

/// How the noise of single runs scatters, on the scale of logarithms.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Normal,
    /// Laplace: two exponential tails.
    Peaked,
    /// Student's t with two degrees of freedom, whose variance is infinite.
    HeavyTails,
    /// Exponential: runs are only ever delayed.
    Delays,
    /// One run in five takes half as long again.
    Spikes,
    /// Three runs in ten take half as long again, as in programs whose threads sometimes contend for a lock.
    TwoSpeeds,
}

/// How the machine changes all runs, as a function of the number of runs made.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Drift {
    None,
    /// A steady 1 % slower with every run: within a block the second one always loses.
    Warming,
    /// Up and down by a tenth.
    Waves,
    /// A third slower from this run on.
    Step(usize),
    /// Every seventh run takes twice as long.
    Bursts,
    /// A random walk in steps of 3 %.
    Walk(f64),
}

pub(crate) const SHAPES: [Shape; 6] =
    [Shape::Normal, Shape::Peaked, Shape::HeavyTails, Shape::Delays, Shape::Spikes, Shape::TwoSpeeds];

pub(crate) const DRIFTS: [Drift; 5] = [Drift::Warming, Drift::Waves, Drift::Step(9), Drift::Bursts, Drift::Walk(0.0)];

impl Machine {
    pub(crate) fn new(seed: u64, shape: Shape, drift: Drift) -> Machine {
        Machine { random: SplitMix64::new(seed), factors: Vec::new(), by_case: Vec::new(), noise: 0.02, shape, drift }
    }

    fn uniform(&mut self) -> f64 {
        self.random.next_u64() as f64 / u64::MAX as f64
    }

    /// Roughly normal: the sum of twelve uniform numbers minus six has a variance of 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().max(1e-18).ln()
    }

    /// A run's own noise: the logarithm of a factor.
    fn own(&mut self) -> f64 {
        match self.shape {
            Shape::Normal => self.noise * self.normal(),
            Shape::Peaked => self.noise * (self.exponential() - self.exponential()),
            Shape::HeavyTails => self.noise * self.normal() / self.exponential().sqrt(),
            Shape::Delays => 2.0 * self.noise * self.exponential(),
            Shape::Spikes => self.noise * self.normal() + if self.uniform() < 0.2 { 1.5_f64.ln() } else { 0.0 },
            Shape::TwoSpeeds => self.noise * self.normal() + if self.uniform() < 0.3 { 1.5_f64.ln() } else { 0.0 },
        }
    }

    /// The median of the factors of [`Machine::own`].
    pub(crate) fn usual(&self) -> f64 {
        let logarithm = match self.shape {
            Shape::Normal | Shape::Peaked | Shape::HeavyTails => 0.0,
            Shape::Delays => 2.0 * self.noise * 2.0_f64.ln(),
            // The quantiles 5/8 and 5/7 of the normal noise of the fast runs.
            Shape::Spikes => 0.3186 * self.noise,
            Shape::TwoSpeeds => 0.5659 * self.noise,
        };
        logarithm.exp()
    }

    /// Seconds of a run that takes `ideal` on a machine at rest.
    pub(crate) fn run(&mut self, ideal: f64) -> f64 {
        let made = self.factors.len();
        let step = self.normal();
        let factor = match &mut self.drift {
            Drift::None => 1.0,
            Drift::Warming => 1.01_f64.powf(made as f64),
            Drift::Waves => 1.0 + 0.1 * (made as f64 * 0.7).sin(),
            Drift::Step(at) => 1.0 + if made > *at { 0.33 } else { 0.0 },
            Drift::Bursts => 1.0 + f64::from(u8::from(made % 7 == 3)),
            Drift::Walk(at) => {
                *at += 0.03 * step;
                at.exp()
            }
        };
        self.factors.push(factor);
        ideal * factor * self.own().exp()
    }

    /// Times of all cases, each once in every block, in an order drawn anew for each block.
    pub(crate) fn sweep(&mut self, blocks: usize, ideal: &[f64]) -> Vec<Vec<f64>> {
        let mut times = vec![Vec::new(); ideal.len()];
        self.by_case = times.clone();
        for _ in 0..blocks {
            let mut order: Vec<usize> = (0..ideal.len()).collect();
            for last in (1..order.len()).rev() {
                order.swap(last, self.random.below(last + 1));
            }
            for case in order {
                let time = self.run(ideal[case]);
                times[case].push(time);
                self.by_case[case].extend(self.factors.last());
            }
        }
        times
    }

    /// Two cases that take `ideal` seconds, in the same blocks.
    pub(crate) fn blocks(&mut self, blocks: usize, ideal: [f64; 2]) -> [Tables; 2] {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..blocks {
            let first = self.random.below(2);
            for case in [first, 1 - first] {
                let time = self.run(ideal[case]);
                times[case].push(time);
            }
        }
        times.map(|times| Sketch::new(2).clean(2, &times).tables())
    }
}
