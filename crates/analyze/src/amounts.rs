//! What a traced run spent per unit of work, item by item: the rows by which thread counts and recordings are compared.

use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::Kind;
use crate::causes::all;
use crate::causes::lines::words;
use crate::model::Model;
use crate::model::code::file_name;
use std::collections::BTreeMap;

/// An amount per unit of work.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amount {
    /// Seconds, or calls for [`Kind::SystemCall`].
    pub value: f64,
    /// Variance from sampling; 0 for what was counted.
    pub variance: f64,
}

/// What has an amount.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// Its kind.
    pub kind: Kind,
    /// For [`Kind::Loss`], the line of the account; those of system calls have the number 0, because the name tells which
    /// call it is, on every architecture.
    line: Option<LineId>,
    /// What it is called: the only thing by which two runs have the same function, lock or system call.
    pub name: String,
}

impl Item {
    /// A function, a lock or a system call.
    pub fn named(kind: Kind, name: String) -> Item {
        Item { kind, line: None, name }
    }

    fn loss(line: LineId, name: String) -> Item {
        let line = match line {
            LineId::Call(_) => LineId::Call(0),
            LineId::FailingCall(_) => LineId::FailingCall(0),
            other => other,
        };
        Item { kind: Kind::Loss, line: Some(line), name }
    }
}

/// Amounts by item.
pub type Amounts = BTreeMap<Item, Amount>;

/// All amounts of a traced run, in clean seconds (or calls) per unit of work.
pub fn amounts<'t>(model: &Model<'t>, ledger: &Ledger<'_, 't>) -> Amounts {
    let mut found: Amounts = BTreeMap::new();
    let mut add = |item: Item, value: f64, variance: f64| {
        let entry = found.entry(item).or_default();
        entry.value += value;
        entry.variance += variance;
    };
    // On-CPU time is measured exactly, and samples divide it: each stands for an equal part.
    let each = ledger.split.on_cpu / ledger.work / ledger.profile.total.max(1) as f64;
    for (doing, count) in &ledger.profile.counts {
        if let Doing::Function(name, module) = doing {
            let module = file_name(module);
            let name = name.map_or_else(|| format!("code without a name in {module}"), |n| format!("{n} ({module})"));
            add(Item::named(Kind::Function, name), *count as f64 * each, *count as f64 * each * each);
        }
    }
    for call in &ledger.traced.syscalls {
        add(Item::named(Kind::SystemCall, model.call_name(call.number)), call.count as f64 / ledger.work, 0.0);
    }
    for (name, blocked) in all().flat_map(|meta| (meta.places)(ledger)) {
        add(Item::named(Kind::Lock, name), blocked, 0.0);
    }
    for line in &ledger.account.lines {
        let id = first_of_name(model, line.id);
        add(Item::loss(id, words(model, id)), line.seconds, line.sampling_error.powi(2));
    }
    found
}

/// The line of a system call with the smallest of the numbers that have the call's name: a damaged recording may give
/// several numbers one name, and they are one item.
fn first_of_name(model: &Model<'_>, line: LineId) -> LineId {
    let first = |number: u32| model.numbers_of(&model.call_name(number)).min().unwrap_or(number);
    match line {
        LineId::Call(number) => LineId::Call(first(number)),
        LineId::FailingCall(number) => LineId::FailingCall(first(number)),
        other => other,
    }
}
