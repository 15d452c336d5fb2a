//! Variables from which runtimes take their number of threads.
//!
//! OpenMP, Go, Rayon, Tokio, Java, .NET and Node.js (`availableParallelism`) ask the kernel for their affinity, so
//! nothing is set for them; a live test checks this. Python's `os.cpu_count()` counts all processors of the machine;
//! since 3.13 a variable overrides it.

use crate::plan::template::PROCESSORS;
use std::ffi::OsString;

/// The variables that knee sets, for runtimes that do not look at the affinity. No other program reads them.
const SET: [&str; 1] = ["PYTHON_CPU_COUNT"];

/// With one of these set, a program has the same number of threads for any number of processors.
const FIXING: [&str; 9] = [
    "OMP_NUM_THREADS",
    "GOMAXPROCS",
    "RAYON_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PYTHON_CPU_COUNT",
    "DOTNET_PROCESSOR_COUNT",
    "JAVA_TOOL_OPTIONS",
];

/// The variables to set, with the count's placeholder; none that the user sets. `value` looks up what the user sets.
pub(super) fn to_set(value: impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = (OsString, OsString)> {
    SET.into_iter().filter(move |name| value(name).is_none()).map(|name| (name.into(), PROCESSORS.into()))
}

/// A sentence about variables set by the user that keep the number of threads from following the processors.
pub(super) fn fixed_note(value: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let set = FIXING.iter().filter_map(|name| {
        let value = value(name)?.to_string_lossy().into_owned();
        let fixes = *name != "JAVA_TOOL_OPTIONS" || value.contains("ActiveProcessorCount");
        (fixes && !value.is_empty() && !value.contains(PROCESSORS)).then(|| format!("{name}={value}"))
    });
    let set: Vec<String> = set.collect();
    let (is, it) = if set.len() == 1 { ("is", "it") } else { ("are", "them") };
    (!set.is_empty()).then(|| {
        format!(
            "{} {is} set: a program that reads {it} has as many threads with any number of processors",
            set.join(" and ")
        )
    })
}
