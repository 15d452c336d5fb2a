//! The lanes of a run, made on all processors when they are asked for: the spans of a large run take as much memory as
//! its rows, and a page needs them one lane at a time.

use super::kinds::{KindOf, Kinds};
use super::sampled::ShownSamples;
use super::timeline::{Lane, Plan, Timeline};
use crate::observed::Observed;
use recording::{QuickMap, ThreadId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

/// Lanes, with running time told apart by samples.
pub struct Drawing<'a, 't> {
    /// The run and its kinds, without lanes. The last kind stands for what no sample tells.
    bare: Timeline,
    plan: Plan<'a, 't>,
    known: QuickMap<KindOf, u32>,
    samples: ShownSamples,
    /// All lanes, once they are kept.
    kept: Vec<Lane>,
}

impl<'a, 't> Drawing<'a, 't> {
    /// At most `most` threads, the longest-lived ones.
    pub fn new(observed: &Observed<'a, 't>, most: usize) -> Drawing<'a, 't> {
        let plan = Plan::new(observed, most);
        let mut kinds = Kinds::new(observed);
        // Kinds are numbered in the order of lanes, and in a lane in the order of time.
        let met = |at: usize| plan.threads.get(at).map(|thread| kinds_of(&plan, *thread)).unwrap_or_default();
        in_order(plan.threads.len(), met, |met: Vec<KindOf>| {
            for kind in met {
                kinds.number(kind);
            }
            ControlFlow::Continue(())
        });
        let Kinds { kinds, known, .. } = kinds;
        let samples = ShownSamples::new(observed, kinds);
        let bare = Timeline::bare(&plan, samples.kinds(true));
        Drawing { bare, plan, known, samples, kept: Vec::new() }
    }

    /// The run and its kinds, without lanes. The last kind stands for what no sample tells.
    pub fn bare(&self) -> &Timeline {
        &self.bare
    }

    /// The threads of the lanes, in order.
    pub fn threads(&self) -> &[ThreadId] {
        &self.plan.threads
    }

    /// Keeps all lanes, so that none is made twice.
    pub fn keep(&mut self) {
        let mut kept = Vec::with_capacity(self.threads().len());
        self.each(
            |lane, _| lane.clone().into_owned(),
            |lane| {
                kept.push(lane);
                ControlFlow::Continue(())
            },
        );
        self.kept = kept;
    }

    /// Makes something of each lane on all processors, and takes these in the order of lanes until `take` has enough.
    /// `make` is told whether a span of the lane has the last kind.
    pub fn each<T: Send>(
        &self,
        make: impl Fn(Cow<'_, Lane>, bool) -> T + Sync,
        take: impl FnMut(T) -> ControlFlow<()>,
    ) {
        let made = |at: usize| match (self.kept.get(at), self.threads().get(at)) {
            (Some(lane), _) => Some(make(Cow::Borrowed(lane), self.has_last(lane))),
            (None, Some(thread)) => {
                // All kinds have been met before.
                let lane = self.plan.lane(*thread, |kind| self.known.get(&kind).copied().unwrap_or_default());
                let (lane, has_last) = self.samples.recoloured(lane);
                Some(make(Cow::Owned(lane), has_last))
            }
            (None, None) => None,
        };
        let mut take = take;
        in_order(self.threads().len(), made, |made| made.map_or(ControlFlow::Break(()), &mut take));
    }

    fn has_last(&self, lane: &Lane) -> bool {
        let last = self.bare.kinds.len().saturating_sub(1) as u32;
        let mixed = lane.mixes.iter().flatten().map(|(kind, _)| *kind);
        lane.spans.iter().map(|span| span.kind).chain(mixed).any(|kind| kind == last)
    }

    /// The run with the lanes that were kept. `has_last`: whether any span has the last kind: a legend is made of the
    /// kinds.
    pub fn into_timeline(self, has_last: bool) -> Timeline {
        let mut bare = self.bare;
        if !has_last {
            bare.kinds.pop();
        }
        Timeline { lanes: self.kept, ..bare }
    }
}

/// The kinds in a lane, in the order in which they are met first.
fn kinds_of(plan: &Plan<'_, '_>, thread: ThreadId) -> Vec<KindOf> {
    let mut met = Vec::new();
    let mut known: QuickMap<KindOf, ()> = QuickMap::default();
    plan.lane(thread, |kind| {
        if known.insert(kind, ()).is_none() {
            met.push(kind);
        }
        0
    });
    met
}

/// Makes so many things on all processors and takes them in order, until `take` has enough. Those that wait to be taken
/// are few.
fn in_order<T: Send>(count: usize, make: impl Fn(usize) -> T + Sync, mut take: impl FnMut(T) -> ControlFlow<()>) {
    let makers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(count);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (send, received) = sync_channel(makers);
        for _ in 0..makers {
            let (send, next, make) = (send.clone(), &next, &make);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    // Who has enough receives no more.
                    if at >= count || send.send((at, make(at))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        for (at, made) in received {
            early.insert(at, made);
            while let Some(made) = early.remove(&wanted) {
                wanted += 1;
                if take(made).is_break() {
                    return;
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_taken_in_order_until_there_are_enough() {
        for (count, enough) in [(0, 9), (1, 9), (1000, 2000), (1000, 10)] {
            let mut taken = Vec::new();
            in_order(
                count,
                |at| at * 3,
                |made| {
                    taken.push(made);
                    if taken.len() < enough { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                },
            );
            assert_eq!(taken, (0..count.min(enough)).map(|at| at * 3).collect::<Vec<_>>());
        }
    }
}
