//! What trials say about a cause: the program with something changed, beside the unchanged one.
//!
//! A trial is chosen by what it changes, and each says for which causes a faster program is proof. All trials of an
//! experiment are judged together, so that they are wrong no more often than one alone.

use super::recordings::curve_change;
use crate::answer::{CurveChange, Judgement, TrialResult, Verdict};
use crate::causes;
use crate::statistics::MIN_SHARE;
use crate::statistics::paired::{ERROR, blocks_needed};
use recording::Tables;
use recording::meta::{Shows, Tried};

/// Decides: which change of speed counts as an effect of a trial: at least this share.
/// From: the smallest loss that is called a cause; less is no reason to change a program.
/// Shown by: `a_small_effect_confirms_nothing`.
/// Wrong if: the cause itself costs less than that.
const LEAST_EFFECT: f64 = MIN_SHARE;

/// What a faster program says about the cause that a trial is aimed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The trial takes away this cause and nothing else: a faster program proves it, one that is no faster refutes it.
    Removes,
    /// The trial makes this cause cheaper and nothing else: a faster program proves it.
    Eases,
    /// The trial makes several causes cheaper, this one among them.
    EasesSeveral,
    /// The trial has nothing to do with the cause.
    Misses,
}

/// One trial's runs.
#[derive(Debug, Clone, Copy)]
pub struct TrialRuns<'t> {
    /// What it is aimed at.
    pub aim: Aim,
    /// True if a library was loaded before the program's own.
    pub preloaded: bool,
    /// True for the trial that loads a library which changes nothing.
    pub control: bool,
    /// Its recording.
    pub tables: &'t Tables,
    /// False if the program printed something else than unchanged.
    pub same_output: bool,
}

/// What became of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// How fast it was; none without runs in common.
    pub change: Option<CurveChange>,
    /// What it says about the cause.
    pub shows: Shows,
}

/// What all trials say.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// In the order of the trials.
    pub results: Vec<Judged>,
    /// What they say about the cause together.
    pub shows: Shows,
    /// The share of experiments in which any of the intervals may miss the truth.
    pub error: f64,
    /// True if a library that changes nothing changed the speed: then no trial with one can be judged.
    pub preload_changes: bool,
}

/// How many blocks an experiment with so many trials needs to tell anything.
pub fn blocks_for(trials: usize) -> usize {
    blocks_needed(share_of_error(trials))
}

/// The error is divided among the trials (Bonferroni).
fn share_of_error(trials: usize) -> f64 {
    ERROR / trials.max(1) as f64
}

/// Judges the trials by their runs with `threads`.
pub fn judge(unchanged: &Tables, trials: &[TrialRuns<'_>], threads: u32) -> Findings {
    let error = share_of_error(trials.len());
    let changes: Vec<Option<CurveChange>> =
        trials.iter().map(|trial| curve_change(unchanged, trial.tables, threads, error)).collect();
    let differs = |change: &Option<CurveChange>| change.as_ref().is_some_and(|c| c.judgement != Judgement::Unclear);
    let preload_changes = trials.iter().zip(&changes).any(|(trial, change)| trial.control && differs(change));
    let results: Vec<Judged> = trials
        .iter()
        .zip(changes)
        .map(|(trial, change)| {
            let counts = trial.same_output && !(trial.preloaded && preload_changes);
            let shows = change.as_ref().filter(|_| counts).map_or(Shows::Nothing, |change| says(trial.aim, change));
            Judged { change, shows }
        })
        .collect();
    let any = |wanted: Shows| results.iter().any(|result| result.shows == wanted);
    let shows = [Shows::Confirms, Shows::Refutes, Shows::Supports].into_iter().find(|shows| any(*shows));
    Findings { results, shows: shows.unwrap_or(Shows::Nothing), error: ERROR, preload_changes }
}

/// What a trial did to the speed of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The program was faster by so much that it matters.
    Faster,
    /// It was faster, but by less than matters.
    HardlyFaster,
    /// It was faster; whether by so much that it matters is open.
    PerhapsFaster,
    /// It was slower.
    Slower,
    /// If it was faster at all, then by less than matters.
    NoFaster,
    /// The interval includes both an effect that matters and none.
    Unclear,
    /// There were too few blocks for an interval.
    TooFewBlocks,
}

impl Effect {
    /// The effect that a change of speed is.
    pub fn from_change(change: &CurveChange) -> Effect {
        match (change.judgement, change.interval) {
            (Judgement::Better, _) if change.speed >= 1.0 + LEAST_EFFECT => Effect::Faster,
            (Judgement::Better, interval) => match interval {
                Some(interval) if interval.high < 1.0 + LEAST_EFFECT => Effect::HardlyFaster,
                _ => Effect::PerhapsFaster,
            },
            (Judgement::Worse, _) => Effect::Slower,
            (Judgement::Unclear, Some(interval)) if interval.high < 1.0 + LEAST_EFFECT => Effect::NoFaster,
            (Judgement::Unclear, Some(_)) => Effect::Unclear,
            (Judgement::Unclear, None) => Effect::TooFewBlocks,
        }
    }
}

fn says(aim: Aim, change: &CurveChange) -> Shows {
    match (aim, Effect::from_change(change)) {
        (Aim::Removes | Aim::Eases, Effect::Faster) => Shows::Confirms,
        (Aim::EasesSeveral, Effect::Faster) => Shows::Supports,
        // A program that became slower pays for what replaced the cause; that says nothing about the cause.
        (Aim::Removes, Effect::NoFaster | Effect::HardlyFaster) => Shows::Refutes,
        _ => Shows::Nothing,
    }
}

/// Trials that were kept with a recording, each with the cause of the verdict that it was aimed at.
pub fn kept(tried: &[Tried], verdict: &Verdict) -> Vec<TrialResult> {
    let number = |tried: &Tried| {
        verdict.causes.iter().position(|cause| {
            let function = cause.culprit.as_ref().and_then(|culprit| culprit.function.as_ref());
            cause.id.name() == tried.cause && function == tried.function.as_ref()
        })
    };
    tried.iter().map(|tried| TrialResult { number: number(tried), tried: tried.clone() }).collect()
}

/// The title of a cause.
pub fn title(cause: &str) -> Option<&'static str> {
    causes::with_none().find(|meta| meta.id.name() == cause).map(|meta| meta.title)
}
