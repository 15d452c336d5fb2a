//! What to try against costs that a runtime's names reveal: its locks, its allocator, its collector.

use super::ALL;

pub use super::types::{CollectorSettings, RuntimeLock};

/// What to try for a lock inside this function (a C name without leading underscores); `None` when unknown.
pub fn for_function(name: &str) -> Option<Vec<String>> {
    let mut known = ALL.iter().flat_map(|runtime| runtime.advice());
    let advice = known.find(|a| a.functions.contains(&name))?;
    Some(list(advice.remedies))
}

/// What to try against time in an allocator. `module`: the file name of its module, where known. `gives_back`: it
/// returns memory to the kernel.
pub fn for_allocator(module: Option<&str>, gives_back: bool) -> Vec<String> {
    // What fits all allocators comes first, and they are the last runtime.
    let advice = ALL.iter().rev().flat_map(|runtime| runtime.allocator_advice(module, gives_back));
    advice.map(|remedy| (*remedy).to_owned()).collect()
}

/// What would show that the collector is not the cause.
pub fn collector_disproved(settings: Option<&CollectorSettings>) -> String {
    let log = settings.map(|settings| format!(" ({})", settings.log)).unwrap_or_default();
    format!(
        "Give the program four times the heap, or let it log its collections{log}: if pauses are a small part of the time, \
         it is not the cause."
    )
}

/// What to try against time in a garbage collector.
pub fn for_collector(settings: Option<&CollectorSettings>) -> Vec<String> {
    let heap = settings.and_then(|settings| settings.heap).map(|heap| format!(" ({heap})")).unwrap_or_default();
    vec![
        "allocate less: reuse buffers, keep values instead of pointers".to_owned(),
        format!("let the heap grow further between collections{heap}"),
    ]
}

fn list(remedies: &[&str]) -> Vec<String> {
    remedies.iter().map(|r| (*r).to_owned()).collect()
}
