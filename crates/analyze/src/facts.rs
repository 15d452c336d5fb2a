//! What the causes are decided from, and when a loss is large and certain enough to be called one.

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
    /// What a line of the account is called: the causes' own words.
    pub named: fn(&Model<'_>, LineId) -> String,
    /// The thread count that is asked about; absent where the counts decide for themselves.
    pub only: Option<u32>,
}

impl<'a, 't> Facts<'a, 't> {
    /// What the counts are of.
    pub fn counted(&self) -> Counted {
        self.model.tables.meta.counted
    }

    /// The same, asked of one thread count alone.
    #[must_use]
    pub fn at(self, threads: u32) -> Facts<'a, 't> {
        Facts { only: Some(threads), ..self }
    }

    /// The thread count that the verdict is about: the largest within the processors whose loss is significant, else
    /// the smallest beyond them; the smallest count itself only when no other was traced.
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
    /// count down, then beyond them upwards. Counts that a larger one overtakes are left out, and of several the smallest: what it loses keeps no further
    /// thread from helping, unless the others lose it as well.
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

    /// True for a count of a program that runs more threads than the count says, a pipeline of so many and two more for
    /// example, when a larger count is faster for certain. There the number of processors is no border between the counts,
    /// and what the smaller one loses keeps no further thread from helping, as at the smallest of all.
    pub fn overtaken(&self, ledger: &Ledger<'_, '_>) -> bool {
        let more_threads = self.ledgers.first().is_some_and(|base| base.traced.uses_more() && !base.traced.is_only_run);
        let threads = ledger.account.threads;
        let Some(own) = self.points.iter().find(|p| p.threads == threads).filter(|_| more_threads) else {
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

/// True when the program itself loses something at a count, for certain, and enough to matter. What the machine took is
/// not its own.
pub fn has_loss(ledger: &Ledger<'_, '_>) -> bool {
    !ledger.scales() && ledger.least_loss > 0.0 && large(ledger, ledger.own_loss())
}

/// True when so many seconds are [`MIN_SHARE`] of the capacity or more.
pub fn large(ledger: &Ledger<'_, '_>, seconds: f64) -> bool {
    seconds > MIN_SHARE * ledger.account.capacity
}

/// So many seconds of an account as people can judge them: `12 % of the processor time with 2 threads`. Seconds per unit of
/// work tell nothing without the whole.
pub fn in_proportion(ledger: &Ledger<'_, '_>, seconds: f64) -> String {
    let share = seconds / ledger.account.capacity.max(f64::MIN_POSITIVE);
    format!("{} of the processor time with {}", percent(share), ledger.traced.counted.many(ledger.account.threads))
}

/// True when a charge is large, and certain in spite of sampling and of the noise of the loss.
pub fn significant(ledger: &Ledger<'_, '_>, (seconds, error): (f64, f64)) -> bool {
    has_loss(ledger) && large(ledger, seconds) && seconds > NORMAL_95 * error
}

/// A charge's share of what the program itself loses, 0 to 1. Where gains offset losses, of all losses together, so that
/// the shares of one thread count never sum to more than 1.
pub fn share(ledger: &Ledger<'_, '_>, seconds: f64) -> f64 {
    let lines: f64 = ledger.account.lines.iter().map(|l| l.seconds.max(0.0)).sum::<f64>() - ledger.to_machine();
    let losses = (lines + ledger.account.unexplained.max(0.0)).max(ledger.own_loss());
    if losses > 0.0 { (seconds / losses).clamp(0.0, 1.0) } else { 0.0 }
}

/// The 95 % interval of a charge: the noise of the loss in proportion, and the sampling error.
pub fn interval(ledger: &Ledger<'_, '_>, (seconds, error): (f64, f64)) -> Interval {
    let Interval { low, high } = ledger.account.loss_interval;
    // An end below zero would contradict that there is a loss: what is known of that end alone then counts.
    let low = if low < 0.0 { low.max(ledger.least_loss).min(ledger.loss) } else { low };
    let relative = |end: f64| if ledger.loss > 0.0 { seconds * (end / ledger.loss - 1.0) } else { 0.0 };
    let sampled = NORMAL_95 * error;
    // Both noises together may reach below zero where one alone just does not.
    let least = (seconds - relative(low).hypot(sampled)).max(0.0);
    Interval { low: least, high: seconds + relative(high).hypot(sampled) }
}
