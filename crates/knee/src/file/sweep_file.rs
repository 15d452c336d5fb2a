//! A sweep as its file describes it.

use crate::plan::cases::{Parameter, Variant};
use report::comparison::Picture;
use std::path::PathBuf;

/// A sweep as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SweepFile {
    pub(crate) path: PathBuf,
    /// One line.
    pub(crate) title: String,
    /// What it teaches, in a few sentences.
    pub(crate) about: String,
    /// The command that builds the programs, for people to run in `folder`; knee only shows it.
    pub(crate) build: Option<String>,
    /// Where the programs run; their paths are relative to it.
    pub(crate) folder: PathBuf,
    pub(crate) threads: Vec<u32>,
    pub(crate) runs: Option<u32>,
    pub(crate) warm_up: Option<u32>,
    /// Seconds.
    pub(crate) timeout: Option<f64>,
    /// Regular expression.
    pub(crate) throughput: Option<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) variants: Vec<Described>,
    pub(crate) picture: Picture,
    pub(crate) published: Option<Published>,
}

/// A variant and what its author says about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Described {
    pub(crate) variant: Variant,
    /// One line.
    pub(crate) about: Option<String>,
    /// Files and shared libraries without which it cannot run.
    pub(crate) needs: Vec<String>,
    /// The place of the bottleneck in the source.
    pub(crate) place: Option<String>,
    /// What repairs it.
    pub(crate) repair: Option<String>,
}

/// Figures that others have published, to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    /// Who, where, when.
    pub(crate) source: String,
    /// On which machine.
    pub(crate) machine: Option<String>,
    /// One line each.
    pub(crate) figures: Vec<String>,
}

/// How the curves are drawn by default: over the thread counts, or over the only parameter with several numbers, which
/// are usually far apart.
pub(crate) fn usual_picture(parameters: &[Parameter]) -> Picture {
    let mut varied = parameters.iter().filter(|p| p.values.len() > 1 && is_numeric(p));
    match (varied.next(), varied.next()) {
        (Some(parameter), None) => Picture { x: Some(parameter.name.clone()), log_x: true, log_y: true },
        _ => Picture::default(),
    }
}

/// Whether every value has a place on an axis.
pub(super) fn is_numeric(parameter: &Parameter) -> bool {
    parameter.values.iter().all(|value| report::comparison::number(value).is_some())
}
