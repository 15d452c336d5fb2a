//! Which thread ended a wait.

use super::lines::Why;
use crate::model::Traced;
use recording::tables::{Wait, Wake};
use recording::{ThreadId, WaitId};
use std::collections::BTreeMap;

/// Decides: whether one thread counts as the waker of every single wait at a place, so that exports draw an arrow from it.
/// From: chosen; no measurement: the recording has the wakers of all waits at a place together, so that at most one
/// arrow in ten comes from the wrong thread.
/// Wrong if: a rare waker matters: it gets no arrow.
const SURE_WAKER: f64 = 0.9;

/// A thread that ended waits at one place, more of their blocked time than any other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MainWaker {
    /// The thread.
    pub thread: ThreadId,
    /// Its share of the blocked time, 0 to 1.
    pub share: f64,
}

impl MainWaker {
    /// True when it ended so many of the waits that it can be taken for the waker of each.
    pub fn is_sure(self) -> bool {
        self.share >= SURE_WAKER
    }
}

/// The thread that ended a wait; none for the kernel. When a device answers, the kernel interrupts whatever thread is
/// running to wake the waiting one. That thread has not ended the wait, unless it was in a call that hands something
/// over.
pub fn ended_by(traced: &Traced<'_>, why: Why, wait: &Wait, wake: &Wake) -> Option<ThreadId> {
    wake.waker.filter(|_| why != Why::Io || traced.handed.contains(&wait.wait))
}

/// The thread that ended most of a wait's blocked time. `why`: the reason of the wait.
pub fn main_waker(traced: &Traced<'_>, why: Why, wait: WaitId) -> Option<MainWaker> {
    let (wait, rows) = (traced.waits.get(&wait)?, traced.wakes.get(&wait)?);
    let all: f64 = rows.iter().map(|wake| wake.blocked_ns as f64).sum();
    let mut by: BTreeMap<ThreadId, f64> = BTreeMap::new();
    for wake in rows {
        if let Some(waker) = ended_by(traced, why, wait, wake) {
            *by.entry(waker).or_default() += wake.blocked_ns as f64;
        }
    }
    let (thread, ns) = by.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| all > 0.0)?;
    Some(MainWaker { thread, share: ns / all })
}
