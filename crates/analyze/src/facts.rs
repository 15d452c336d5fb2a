//! What causes are decided from, and when a loss is large and certain enough to be called a cause.

use crate::account::{Ledger, LineId};
use crate::answer::{Interval, Point};
use crate::curve::Clean;
use crate::model::Model;
use crate::statistics::{MIN_SHARE, NORMAL_95};
use crate::words::percent;
use recording::meta::Counted;

/// Everything that a cause may look at.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a, 't> {
    /// The recording, indexed.
    pub model: &'a Model<'t>,
    /// The clean runs.
    pub clean: &'a Clean<'t>,
    /// The curve.
    pub points: &'a [Point],
    /// The account of each traced thread count, ascending.
    pub ledgers: &'a [Ledger<'a, 't>],
    /// Processors that the program may use.
    pub processors: u32,
    /// True for a program that runs more threads than the count says, as its baseline shows.
    pub more_threads: bool,
    /// The words for a line of the account, from the causes.
    pub named: fn(&Model<'_>, LineId) -> String,
    /// The thread count that is asked about; absent where the count is chosen by its loss.
    pub only: Option<u32>,
}

impl<'a, 't> Facts<'a, 't> {
    /// What is counted: threads or processors.
    pub fn counted(&self) -> Counted {
        self.model.tables.meta.counted
    }

    /// The same facts for a question about one thread count alone.
    #[must_use]
    pub fn at(self, threads: u32) -> Facts<'a, 't> {
        Facts { only: Some(threads), ..self }
    }

    /// The thread count that the verdict is about: the largest within the processors whose loss is significant, else
    /// the smallest such count beyond them; the baseline only when no other was traced.
    pub fn focus(&self) -> Option<&'a Ledger<'a, 't>> {
        if let Some(only) = self.only {
            return self.ledgers.iter().find(|l| l.account.threads == only).filter(|l| has_loss(l));
        }
        let [only] = self.ledgers else {
            let base = self.clean.base().or(self.ledgers.first().map(|l| l.account.threads));
            let counts = |l: &&Ledger| Some(l.account.threads) != base && !self.overtaken(l);
            let lossy = || self.ledgers.iter().filter(counts).filter(|l| has_loss(l));
            let within = lossy().rfind(|l| l.account.threads <= self.processors);
            return within.or_else(|| lossy().find(|l| l.account.threads > self.processors));
        };
        has_loss(only).then_some(only)
    }

    /// The accounts in the order in which a cause is looked for: the focus, then within the processors from the largest
    /// count down, then beyond them upwards. Left out are counts that a larger one overtakes, and the smallest of
    /// several counts: its loss keeps no further thread from helping, unless the other counts lose the same.
    pub fn in_order(&self) -> Vec<&'a Ledger<'a, 't>> {
        if self.only.is_some() {
            return self.focus().into_iter().collect();
        }
        let focus = self.focus().map(|l| l.account.threads);
        let more = self.ledgers.iter().skip(usize::from(self.ledgers.len() > 1));
        let mut order: Vec<&Ledger> = more.filter(|l| !self.overtaken(l)).collect();
        order.sort_by_key(|l| {
            let threads = l.account.threads;
            let beyond = threads > self.processors;
            (Some(threads) != focus, beyond, if beyond { threads } else { u32::MAX - threads })
        });
        order
    }

    /// True when a larger count is certainly faster, in a program that runs more threads than the count says, such as a
    /// pipeline of n threads plus two. The number of processors is then no limit for the count, and the loss of the
    /// smaller count keeps no further thread from helping, as at the baseline.
    pub fn overtaken(&self, ledger: &Ledger<'_, '_>) -> bool {
        let threads = ledger.account.threads;
        let Some(own) = self.points.iter().find(|p| p.threads == threads).filter(|_| self.more_threads) else {
            return false;
        };
        let faster = |p: &&Point| p.threads > threads && p.speedup_interval.low > own.speedup_interval.high;
        self.points.iter().any(|p| faster(&p))
    }

    /// True when some traced count lost something.
    pub fn any_loss(&self) -> bool {
        self.ledgers.iter().any(has_loss)
    }
}

/// See [`Facts::more_threads`].
pub fn more_threads(ledgers: &[Ledger<'_, '_>]) -> bool {
    ledgers.first().is_some_and(|base| base.traced.uses_more() && !base.traced.is_only_run)
}

/// True when the program itself certainly loses enough at a count to matter. What the machine took does not count.
pub fn has_loss(ledger: &Ledger<'_, '_>) -> bool {
    !ledger.scales() && ledger.least_loss > 0.0 && large(ledger, ledger.own_loss())
}

/// A loss below this share of the capacity is small: that there is one is not enough for a cause then, it must certainly be
/// as large as the smallest cause. That alone makes no other cause clear.
///
/// Decides: whether a program that scales well is told a cause.
/// From: chosen, with one clean program of another author in view: with 2 threads it was 1.8 times as fast, between 1.5 and
/// 2.0, and was told a lock. Of 226 kept recordings one more loses a cause by it, a start that takes 5 %.
/// Shown by: `a_small_loss_must_certainly_be_large_enough`.
/// Wrong if: a program loses 14 % in runs that scatter by a tenth: what it loses is told as noise.
const SMALL: f64 = 0.15;

/// True when a loss is not small, or certainly as large as the smallest cause.
fn is_certain(ledger: &Ledger<'_, '_>) -> bool {
    ledger.own_loss() > SMALL * ledger.account.capacity || large(ledger, ledger.account.loss_interval.low)
}

/// True when `seconds` are more than [`MIN_SHARE`] of the capacity.
pub fn large(ledger: &Ledger<'_, '_>, seconds: f64) -> bool {
    seconds > MIN_SHARE * ledger.account.capacity
}

/// Seconds of an account in a form that people can judge: `12 % of the processor time with 2 threads`. Seconds per unit
/// of work mean nothing without the whole.
pub fn in_proportion(ledger: &Ledger<'_, '_>, seconds: f64) -> String {
    let share = seconds / ledger.account.capacity.max(f64::MIN_POSITIVE);
    format!("{} of the processor time with {}", percent(share), ledger.traced.counted.many(ledger.account.threads))
}

/// True when a charge is large, and certain despite sampling and the noise of the loss.
pub fn significant(ledger: &Ledger<'_, '_>, (seconds, error): (f64, f64)) -> bool {
    has_loss(ledger) && is_certain(ledger) && large(ledger, seconds) && seconds > NORMAL_95 * error
}

/// A charge's share of the program's own loss, 0 to 1. Where gains offset losses, the share of all losses, so that the
/// shares at one thread count never sum to more than 1.
pub fn share(ledger: &Ledger<'_, '_>, seconds: f64) -> f64 {
    let lines: f64 = ledger.account.lines.iter().map(|l| l.seconds.max(0.0)).sum::<f64>() - ledger.to_machine();
    let losses = (lines + ledger.account.unexplained.max(0.0)).max(ledger.own_loss());
    if losses > 0.0 { (seconds / losses).clamp(0.0, 1.0) } else { 0.0 }
}

/// The 95 % interval of a charge: a proportional part of the noise of the loss, and the sampling error.
pub fn interval(ledger: &Ledger<'_, '_>, (seconds, error): (f64, f64)) -> Interval {
    let Interval { low, high } = ledger.account.loss_interval;
    // A lower end below 0 would contradict that there is a loss: the one-sided bound is then used.
    let low = if low < 0.0 { low.max(ledger.least_loss).min(ledger.loss) } else { low };
    let relative = |end: f64| if ledger.loss > 0.0 { seconds * (end / ledger.loss - 1.0) } else { 0.0 };
    let sampled = NORMAL_95 * error;
    // Both kinds of noise together may reach below 0 even if neither does alone.
    let least = (seconds - relative(low).hypot(sampled)).max(0.0);
    Interval { low: least, high: seconds + relative(high).hypot(sampled) }
}
