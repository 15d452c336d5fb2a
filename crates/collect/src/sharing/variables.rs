//! What lies at the addresses of the other rows. May import: `memory`.

use super::memory::Memory;
use super::{ImageCode, NamedVariable};
use recording::RunId;
use recording::tables::{Region, Variable};
use std::collections::BTreeSet;

/// Addresses that are named at most, of one process: shared lines are few, unless the program works on shared data.
const NAMED: usize = 1 << 16;

pub(super) fn rows(
    run: RunId,
    addresses: &BTreeSet<u64>,
    memory: &Memory,
    known: Option<&dyn ImageCode>,
) -> Vec<Variable> {
    let row = |address: &u64| {
        let named = known.and_then(|known| known.variable(*address));
        let region = if named.is_some() { Region::Global } else { memory.region(*address) };
        let (module, object) = match named {
            Some(NamedVariable { module, object }) => (Some(module), object),
            None => (None, None),
        };
        Variable {
            run,
            address: *address,
            region,
            module,
            offset: object.as_ref().map(|object| object.offset),
            size: object.as_ref().map(|object| object.size),
            member: object.as_ref().and_then(|object| object.member.clone()),
            name: object.map(|object| object.name),
        }
    };
    addresses.iter().take(NAMED).map(row).collect()
}
