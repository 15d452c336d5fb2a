//! The account: where the processors' time went at each thread count, and how that adds up.
//!
//! Capacity, useful work and loss come from the clean runs; the traced run says how the loss splits. May import:
//! `answer`, `curve`, `intervals`, `model`, `paired`, `statistics`, `waits`, and its rooms: `pieces` the timelines, `timeline` the split
//! instant by instant, `meanwhile` who ran while capacity was idle, `profile` the CPU samples, `kernel_code` what
//! kernel stacks show, `alone` code that never runs beside other code, `idle` and `growth` both halves by cause,
//! `parts` what they are made of.

pub mod alone;
pub mod growth;
pub mod idle;
mod kernel_code;
pub mod meanwhile;
pub mod parts;
pub mod pieces;
pub mod profile;
pub mod timeline;

use crate::answer::{Account, CauseId, Line};
use crate::curve::{Clean, cpu, median_of, seconds};
use crate::intervals;
use crate::model::{Model, Traced};
use crate::paired::ERROR;
use crate::statistics::{MIN_SHARE, Measured, point};
use crate::waits::{FutexWait, classify};
use alone::Alone;
use growth::{Base, Strength};
use parts::Part;
use profile::{Doing, LibraryFunction, Profile, lock_owners, profile};
use recording::WaitId;
use std::collections::{BTreeMap, BTreeSet};
use timeline::{Split, split};

/// The traced loss is scaled onto the clean one when that makes the parts at most this much larger; a traced run that
/// shows so little of the loss says nothing about the rest of it, and the parts are scaled by the time alone. In the
/// other direction there is no limit: a traced run that lost more still tells how the loss splits.
const LARGEST_RATIO: f64 = 4.0;

/// The traced loss must be this share of the capacity to be scaled as a whole. Below, it is a small difference of large
/// numbers.
const SOLID_LOSS: f64 = 0.1;

/// What one line of parts that cannot be told from sampling noise is called.
const BELOW_NOISE: &str = "small changes within the sampling error";

/// The account of one thread count with what it was made of.
#[derive(Debug)]
pub struct Ledger<'m, 't> {
    /// The traced run.
    pub traced: &'m Traced<'t>,
    /// The account as printed.
    pub account: Account,
    /// Capacity − useful work, processor-seconds per unit of work.
    pub loss: f64,
    /// What the loss is above with 95 % certainty, in the same unit.
    pub least_loss: f64,
    /// Clean processor-seconds per unit of work for one traced processor-second.
    pub scale: f64,
    /// The split of the traced run.
    pub split: Split,
    /// Its futex waits, classified.
    pub futexes: BTreeMap<WaitId, FutexWait<'t>>,
    /// Its samples, counted.
    pub profile: Profile<'t>,
    /// Its code that never runs beside other code.
    pub alone: Alone<'t>,
    /// Units of work that the traced run did.
    pub work: f64,
    /// What `unexplained` is made of as far as that is known: in words, and in the unit of the lines.
    pub unexplained: Vec<(String, f64)>,
    /// User-space functions by growth against the smallest count, largest first, in the unit of the lines.
    pub grown: Vec<(Doing<'t>, f64)>,
}

impl Ledger<'_, '_> {
    /// What the lines of a cause sum to, and the standard error from sampling.
    pub fn charged(&self, cause: CauseId) -> (f64, f64) {
        let lines = self.account.lines.iter().filter(|l| l.cause == cause);
        let (sum, variance) = lines.fold((0.0, 0.0), |(s, v), l| (s + l.seconds, v + l.sampling_error.powi(2)));
        (sum, variance.sqrt())
    }
}

/// One traced run on the way to its ledger.
struct Draft<'m, 't> {
    traced: &'m Traced<'t>,
    futexes: BTreeMap<WaitId, FutexWait<'t>>,
    split: Split,
    profile: Profile<'t>,
    alone: Alone<'t>,
    /// Units of work that it did.
    work: f64,
}

/// The accounts of all traced runs, ascending by thread count.
pub fn ledgers<'m, 't>(model: &'m Model<'t>, clean: &Clean<'t>) -> Vec<Ledger<'m, 't>> {
    let classified: Vec<_> = model.traced.iter().map(|t| classify(t, &model.stacks, model.numbers)).collect();
    let owners: BTreeSet<LibraryFunction> =
        model.traced.iter().zip(&classified).flat_map(|(t, f)| lock_owners(t, f)).collect();
    let drafts: Vec<Draft> = model
        .traced
        .iter()
        .zip(classified)
        .map(|(traced, futexes)| {
            let split = split(traced, &pieces::pieces(traced, &model.stacks, &futexes));
            Draft {
                alone: Alone::new(&model.stacks, &split.meanwhile),
                profile: profile(model, traced, &futexes, &owners),
                work: work(traced, clean),
                split,
                traced,
                futexes,
            }
        })
        .collect();
    let base_count = clean.base().or(drafts.first().map(|d| d.traced.run.threads));
    let base = drafts.iter().find(|d| Some(d.traced.run.threads) == base_count);
    let base_strength =
        base.map(|b| Strength { creating_is_loss: creating_is_loss(clean, b, &drafts), ..b.strength() });
    let lines: Vec<_> = drafts.iter().map(|d| draw_up(model, clean, d, base_count, base_strength.as_ref())).collect();
    let together = drafts.into_iter().zip(lines);
    together.map(|(d, lines)| d.close(lines)).collect()
}

/// True when creating threads is loss at the smallest count too. No unit of work needs a thread of its own, but a program
/// that makes one for each task pays as much at every count, and its creating would not show as growth.
///
/// It counts where the program loses enough for a cause, and creating takes more than all that it loses otherwise. A
/// program that scales pays for its threads with work, and one that something larger holds back is not held back by them.
fn creating_is_loss(clean: &Clean<'_>, base: &Draft<'_, '_>, drafts: &[Draft<'_, '_>]) -> bool {
    let creating = base.strength().spent(Doing::Creation).0;
    let Some(useful) = median_of(&clean.cpu_per_unit(base.traced.run.threads)) else { return false };
    let lost = drafts.iter().filter(|d| !d.traced.alone).filter_map(|d| {
        let time = median_of(&clean.seconds_per_unit(d.traced.run.threads))?;
        let capacity = time * f64::from(d.traced.processors());
        Some((capacity - useful, capacity))
    });
    let worst = lost.max_by(|a, b| a.0.total_cmp(&b.0));
    worst.is_some_and(|(lost, capacity)| lost > MIN_SHARE * capacity && creating > lost)
}

fn work(traced: &Traced<'_>, clean: &Clean<'_>) -> f64 {
    let printed = traced.run.throughput.is_some();
    let usual = || clean.median(traced.run.threads, |r| clean.work(r));
    // What is printed is a speed of the measured part: times its length it is the work done there.
    let share = if printed && clean.by_throughput { traced.measured_share() } else { 1.0 };
    let own = Some(clean.work(traced.run) * share).filter(|_| printed || !clean.by_throughput);
    own.or_else(usual).filter(|w| w.is_finite() && *w > 0.0).unwrap_or(1.0)
}

/// The lines of an account and what they stand on.
struct Lines<'t> {
    account: Account,
    loss: f64,
    least_loss: f64,
    scale: f64,
    unexplained: Vec<(String, f64)>,
    grown: Vec<(Doing<'t>, f64)>,
}

fn draw_up<'t>(
    model: &Model<'t>,
    clean: &Clean<'t>,
    draft: &Draft<'_, 't>,
    base_count: Option<u32>,
    base: Option<&Strength<'_, 't>>,
) -> Lines<'t> {
    let (traced, split) = (draft.traced, &draft.split);
    let threads = traced.run.threads;
    let processors = f64::from(traced.processors());
    let traced_capacity = split.capacity / draft.work;
    let clean_time = clean.seconds_per_unit(threads);
    let clean_useful = base_count.map(|b| clean.cpu_per_unit(b)).unwrap_or_default();
    let strength = draft.strength();
    let working = 1.0 - base.filter(|_| !traced.alone).map_or(0.0, Strength::creating);
    let traced_useful = match traced.alone {
        true => Some(strength.useful()),
        false => base.map(|b| b.on_cpu * working),
    };
    let capacity = median_of(&clean_time).map_or(traced_capacity, |t| t * processors);
    let clean_useful_median = median_of(&clean_useful).map(|u| u * working);
    let useful = clean_useful_median.or(traced_useful).unwrap_or_else(|| cpu(traced.run) / draft.work);
    let loss = capacity - useful;
    let times = |series: &[Measured], factor: f64| -> Vec<Measured> {
        series.iter().map(|m| Measured { value: m.value * factor, ..*m }).collect()
    };
    let inside = intervals::difference(&times(&clean_useful, working), &times(&clean_time, processors), ERROR);
    let loss_interval = intervals::holding(inside.unwrap_or(point(loss)), loss);
    let least_loss =
        intervals::above(&times(&clean_useful, working), &times(&clean_time, processors), ERROR).unwrap_or(loss);
    let time = Some(seconds(traced.run.wall_ns)).filter(|t| *t > 0.0).unwrap_or(split.capacity / processors);
    let time = time * traced.measured_share();
    let (mut found, mut grown) = (idle::idle(model, traced, split, &draft.alone), Vec::new());
    for part in &mut found {
        part.seconds /= draft.work;
        part.variance /= draft.work * draft.work;
    }
    // The clean runs, which the account is of, do not have what knee took.
    let observed = |p: &mut Part| median_of(&clean_time).is_some() && p.what == idle::OBSERVED;
    let traced_capacity = traced_capacity - found.extract_if(.., observed).map(|p| p.seconds).sum::<f64>();
    let traced_loss = traced_capacity - traced_useful.unwrap_or(useful);
    let scale = scale(loss, traced_loss, capacity, traced_capacity);
    if Some(threads) != base_count || traced.alone {
        let base = match base {
            _ if traced.alone => Base::Alone,
            Some(base) => Base::Run(base),
            None => Base::Unknown,
        };
        let (growth, functions) = growth::growth(model, &strength, base);
        found.extend(growth);
        grown = functions;
    } else if base.is_some_and(|b| b.creating_is_loss) {
        found.push(strength.creation());
    }
    if split.surplus > 0.0 {
        // On-CPU time that the growth counts and the capacity does not.
        let what = "more threads on processors than the capacity counts".to_owned();
        found.push(Part { cause: None, what, seconds: -split.surplus / draft.work, variance: 0.0 });
    }
    for part in &mut found {
        part.seconds *= scale;
        part.variance *= scale * scale;
    }
    grown.iter_mut().for_each(|g| g.1 *= scale);
    let (lines, unexplained) = sort_out(found);
    let explained: f64 = lines.iter().map(|l| l.seconds).sum();
    Lines {
        account: Account {
            threads: if traced.alone { traced.asked() } else { threads },
            capacity,
            useful,
            unexplained: loss - explained,
            traced_over_clean: median_of(&clean_time).map_or(1.0, |t| time / draft.work / t),
            loss_interval,
            lines,
        },
        loss,
        least_loss,
        scale: scale / draft.work,
        unexplained,
        grown,
    }
}

impl<'m, 't> Draft<'m, 't> {
    fn strength(&self) -> Strength<'_, 't> {
        let (profile, on_cpu) = (&self.profile, self.split.on_cpu / self.work);
        Strength { profile, on_cpu, failing: growth::failing(self.traced), creating_is_loss: false }
    }

    fn close(self, lines: Lines<'t>) -> Ledger<'m, 't> {
        let Draft { traced, futexes, split, profile, alone, work } = self;
        let Lines { account, loss, least_loss, scale, unexplained, grown } = lines;
        Ledger { traced, account, loss, least_loss, scale, split, futexes, profile, alone, work, unexplained, grown }
    }
}

/// Clean seconds for a traced one: the losses' ratio where the traced loss is solid, else that of the times.
///
/// A traced run that lost something where the clean runs lost nothing was disturbed: its parts then count for nothing.
fn scale(loss: f64, traced_loss: f64, capacity: f64, traced_capacity: f64) -> f64 {
    let losses = loss.max(0.0) / traced_loss;
    if traced_loss > SOLID_LOSS * traced_capacity && losses <= LARGEST_RATIO {
        return losses;
    }
    let times = capacity / traced_capacity;
    if times.is_finite() { times } else { 1.0 }
}

/// Splits parts into lines, largest first, and what no evidence explains. Sampled parts below their own standard error
/// are one line.
fn sort_out(parts: Vec<Part>) -> (Vec<Line>, Vec<(String, f64)>) {
    let (mut lines, mut unexplained) = (Vec::new(), Vec::new());
    let mut noise = (0.0, 0.0);
    for Part { cause, what, seconds, variance } in parts {
        match cause {
            None => unexplained.push((what, seconds)),
            Some(_) if variance > 0.0 && seconds * seconds < variance => {
                noise = (noise.0 + seconds, noise.1 + variance)
            }
            Some(cause) => {
                let gain = seconds < 0.0 && what == growth::SAME_FUNCTIONS;
                let what = if gain { growth::SAME_FUNCTIONS_GAIN.to_owned() } else { what };
                lines.push(Line { cause, what, seconds, sampling_error: variance.sqrt() });
            }
        }
    }
    if noise.1 > 0.0 {
        let what = BELOW_NOISE.to_owned();
        lines.push(Line { cause: CauseId::ExtraWork, what, seconds: noise.0, sampling_error: f64::sqrt(noise.1) });
    }
    lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.what.cmp(&b.what)));
    unexplained.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.cmp(&b.0)));
    (lines, unexplained)
}
