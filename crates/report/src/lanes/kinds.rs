//! What spans show: a colour and words, with a number each.

use super::class::Class;
use crate::observed::Observed;
use analyze::account::lines::Why;
use analyze::account::pieces::Blocks;
use analyze::account::wakers::MainWaker;
use recording::tables::{Slice, State};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::HashMap;

/// A class with the details that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// The colour.
    pub class: Class,
    /// Details in words: the system call, the lock and its place.
    pub label: String,
    /// The thread that ends most of such waits.
    pub waker: Option<MainWaker>,
}

/// Beyond this number, kinds are not told apart: otherwise a recording with forty thousand waits for joins would need
/// as many names.
const MOST_KINDS: usize = 4096;

/// What a span shows, before it has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum KindOf {
    Plain(Class),
    Call(u32),
    Wait(WaitId, Why),
}

impl KindOf {
    /// `single`: each slice of the stretch is one event, not the sum of several.
    pub(super) fn slice(slice: &Slice, single: bool, blocks: &Blocks<'_, '_>) -> KindOf {
        match slice.state {
            State::Running => KindOf::Plain(Class::User),
            State::Runnable => KindOf::Plain(Class::Runnable),
            State::Preempted => KindOf::Plain(Class::Preempted),
            State::Blocked => {
                let why = blocks.reason(slice, single);
                slice.wait.map_or(KindOf::Plain(Class::of_wait(why)), |wait| KindOf::Wait(wait, why))
            }
            State::Unknown => KindOf::Plain(Class::Unknown),
        }
    }
}

/// Numbers kinds in the order in which they are met.
pub(super) struct Kinds<'a, 'o, 't> {
    observed: &'o Observed<'a, 't>,
    pub(super) kinds: Vec<Kind>,
    pub(super) known: QuickMap<KindOf, u32>,
    /// Equal labels share a kind.
    equal: HashMap<(Class, String, Option<ThreadId>), u32>,
}

impl<'a, 'o, 't> Kinds<'a, 'o, 't> {
    pub(super) fn new(observed: &'o Observed<'a, 't>) -> Kinds<'a, 'o, 't> {
        Kinds { observed, kinds: Vec::new(), known: QuickMap::default(), equal: HashMap::new() }
    }

    fn add(&mut self, kind: Kind) -> u32 {
        let key = (kind.class, kind.label.clone(), kind.waker.map(|waker| waker.thread));
        if let Some(known) = self.equal.get(&key) {
            return *known;
        }
        if self.kinds.len() >= MOST_KINDS && !kind.label.is_empty() {
            return self.number(KindOf::Plain(kind.class));
        }
        let index = self.kinds.len() as u32;
        self.kinds.push(kind);
        self.equal.insert(key, index);
        index
    }

    /// The number of a kind, new or known.
    pub(super) fn number(&mut self, kind: KindOf) -> u32 {
        if let Some(known) = self.known.get(&kind) {
            return *known;
        }
        let index = match kind {
            KindOf::Plain(class) => self.add(Kind { class, label: String::new(), waker: None }),
            KindOf::Call(number) => {
                self.add(Kind { class: Class::System, label: self.observed.model.call_name(number), waker: None })
            }
            KindOf::Wait(id, why) => self.wait(id, why),
        };
        self.known.insert(kind, index);
        index
    }

    fn wait(&mut self, id: WaitId, why: Why) -> u32 {
        let class = Class::of_wait(why);
        let Some(wait) = self.observed.traced.waits.get(&id) else { return self.number(KindOf::Plain(class)) };
        let mut label = self.observed.block_in_words(why, wait);
        if let (Class::Lock, Some(object)) = (class, wait.object) {
            label += &format!(" [{object:#x}]");
        }
        self.add(Kind { class, label, waker: self.observed.main_waker(wait) })
    }
}

/// The kind that each sort of span had last: mostly it is the next one's, too, and looking it up takes longer.
#[derive(Default)]
pub(super) struct RecentKinds {
    plain: Option<(KindOf, u32)>,
    wait: Option<(KindOf, u32)>,
    other: Option<(KindOf, u32)>,
}

impl RecentKinds {
    /// The number of a kind, which `number` gives where it is not at hand.
    pub(super) fn number(&mut self, kind: KindOf, number: &mut impl FnMut(KindOf) -> u32) -> u32 {
        let recent = match kind {
            KindOf::Plain(Class::User) => &mut self.plain,
            KindOf::Wait(..) => &mut self.wait,
            KindOf::Plain(_) | KindOf::Call(_) => &mut self.other,
        };
        match recent {
            Some((same, known)) if *same == kind => *known,
            _ => {
                let found = number(kind);
                *recent = Some((kind, found));
                found
            }
        }
    }
}
