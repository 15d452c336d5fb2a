//! What lies at the addresses of the other rows.

use super::input::{ImageCode, NamedVariable};
use super::memory::Memory;
use super::snapshots::Snapshot;
use recording::RunId;
use recording::tables::{Region, Variable};
use std::collections::BTreeSet;

/// How many addresses of one process are named at most: shared lines are few, unless the program works on shared data.
const NAMED: usize = 1 << 16;

pub(super) fn rows<'m>(
    run: RunId,
    addresses: &BTreeSet<u64>,
    memory: &Memory,
    known: Option<&dyn ImageCode>,
    snapshots: &dyn Fn(u64) -> &'m [Snapshot],
) -> Vec<Variable> {
    let row = |address: &u64| {
        let named = known.and_then(|known| known.variable(*address));
        if let Some(NamedVariable { module, object }) = named {
            return Variable {
                run,
                address: *address,
                region: Region::Global,
                module: Some(module),
                offset: object.as_ref().map(|object| object.offset),
                size: object.as_ref().map(|object| object.size),
                member: object.as_ref().and_then(|object| object.member.clone()),
                name: object.map(|object| object.name),
                type_name: None,
            };
        }
        let placed = known.and_then(|known| known.pointed(snapshots(*address), *address));
        Variable {
            run,
            address: *address,
            region: memory.region(*address),
            module: None,
            name: None,
            offset: placed.as_ref().map(|placed| placed.offset),
            size: placed.as_ref().map(|placed| placed.size),
            member: placed.as_ref().map(|placed| placed.member.clone()).filter(|member| !member.is_empty()),
            type_name: placed.map(|placed| placed.type_name),
        }
    };
    addresses.iter().take(NAMED).map(row).collect()
}
