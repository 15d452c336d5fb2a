//! With which collector runs are observed: the best that is allowed here, or the one that the user asks for.

use super::ahead::Ahead;
use super::observation::{Running, observe};
use super::tracer::trace;
use crate::bpf::Programs;
use crate::error::Error;
use crate::launch::OutputSink;
use crate::launch::{Command, Finished, RunOptions};
use crate::load::{Loading, Server};
use crate::machine::usable_processors;
use crate::sampling::sample_hz;
use crate::sources::perf::{PerfEvents, PerfSource};
use crate::sources::proc::ProcSource;
use crate::stacks::{Interner, Stacks};
use crate::stop::Stop;
use recording::meta::Capability;
use recording::{RunId, Writer};
use resolve::ModuleCache;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A way to observe runs, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Collector {
    /// Programs in the kernel: who waits for what, and who wakes them; everything.
    Bpf,
    /// Perf events of one's own program: exact times on and off processors, samples in user space; wait places by
    /// looking now and then.
    Perf,
    /// /proc: exact sums of times, everything else by looking now and then.
    Proc,
}

impl Collector {
    /// All, the best first.
    pub const ALL: [Collector; 3] = [Collector::Bpf, Collector::Perf, Collector::Proc];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Collector::Bpf => "bpf",
            Collector::Perf => "perf",
            Collector::Proc => "proc",
        }
    }

    /// What [`crate::probe::probe`] calls it.
    pub fn capability(self) -> &'static str {
        match self {
            Collector::Bpf => recording::words::BPF,
            Collector::Perf => "observation by perf events",
            Collector::Proc => "observation through /proc",
        }
    }

    /// Whether it reads the functions of Python 3 from the interpreter's memory. `minor`: the minor version, if known.
    pub fn reads_python(self, minor: Option<u32>) -> bool {
        self == Collector::Bpf
            && cfg!(target_arch = "x86_64")
            && minor.is_none_or(resolve::python::PythonLayout::supports)
    }

    /// What it cannot show and a better one can.
    pub fn lacks(self) -> &'static str {
        match self {
            Collector::Bpf => "nothing",
            Collector::Perf => {
                "who wakes whom and who holds a lock, locks and system calls inside the kernel, counts of system calls; \
                 where a thread waits is known for waits of some 10 ms, and estimated or unknown for shorter ones; a \
                 lock without a name stays unsure"
            }
            Collector::Proc => {
                "which code runs, who wakes whom, locks and system calls inside the kernel, counts of system calls; \
                 states and places of waits are known at moments some 10 ms apart; short threads may be missed; extra \
                 work, spinning and locks without a name stay unsure"
            }
        }
    }

    /// The best that a machine allows, by what [`crate::probe::probe`] found.
    pub fn best(capabilities: &[Capability]) -> Option<Collector> {
        let found =
            |collector: &Collector| capabilities.iter().any(|c| c.what == collector.capability() && c.available);
        Collector::ALL.into_iter().find(found)
    }

    /// Makes a recording's limitations say what its runs are observed with: better collectors that are not used are
    /// listed as missing, with what the used one cannot see; worse ones are left out.
    pub fn explain(self, asked: bool, capabilities: &mut Vec<Capability>) {
        capabilities.retain(|c| Collector::ALL.into_iter().all(|other| other <= self || c.what != other.capability()));
        for better in Collector::ALL.into_iter().filter(|better| *better < self) {
            for capability in capabilities.iter_mut().filter(|c| c.what == better.capability()) {
                if capability.available && asked {
                    capability.why = format!("not used: the collector {self} was asked for");
                    capability.unlock = Some(format!("leave out --collector {self} (or KNEE_COLLECTOR)"));
                }
                capability.available = false;
                // The cost is stated only once, at the best collector.
                capability.costs = match better {
                    Collector::Bpf => {
                        format!("runs were observed with {}: it cannot tell {}", self.words(), self.lacks())
                    }
                    Collector::Perf | Collector::Proc => String::new(),
                };
            }
        }
    }

    fn words(self) -> &'static str {
        match self {
            Collector::Bpf => "eBPF",
            Collector::Perf => "perf events",
            Collector::Proc => "/proc alone",
        }
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Collector {
    type Err = String;

    fn from_str(text: &str) -> Result<Collector, String> {
        let found = Collector::ALL.into_iter().find(|collector| collector.name() == text);
        found.ok_or_else(|| format!("`{text}` is no collector: bpf, perf and proc are"))
    }
}

/// Observes runs of one recording; stacks keep their handles from run to run.
pub struct Observer {
    collector: Collector,
    interner: Interner,
    cache: ModuleCache,
    ahead: Option<Arc<Ahead>>,
}

impl Observer {
    /// An observer for a new recording.
    pub fn new(collector: Collector) -> Observer {
        Observer { collector, interner: Interner::new(), cache: ModuleCache::new(), ahead: None }
    }

    /// The same, for runs whose programs are loaded ahead: those of the next run from the moment when the target has
    /// ended.
    pub fn with(collector: Collector, ahead: Arc<Ahead>) -> Observer {
        Observer { ahead: Some(ahead), ..Observer::new(collector) }
    }

    /// What the user should know about the names and stacks of all runs so far, in plain sentences.
    pub fn notes(&self) -> Vec<String> {
        self.interner.sentences()
    }

    /// Runs the command observed and appends the rows of the run, all but its row in `runs`.
    ///
    /// # Errors
    /// As [`crate::run_clean`]; also when the run cannot be observed in this way or the rows cannot be written. When it
    /// cannot be observed, the target is not run.
    pub fn run(
        &mut self,
        command: &Command,
        options: &RunOptions,
        sink: &mut dyn OutputSink,
        stop: &Stop,
        writer: &mut Writer,
        run_id: RunId,
    ) -> Result<Finished, Error> {
        self.observe(Running { command, options, sink, stop, load: None, ahead: None }, writer, run_id)
    }

    /// The same for a server under its load; the run lasts from the load's beginning to its end.
    ///
    /// # Errors
    /// As [`crate::load::run_clean_under`] and [`Observer::run`].
    pub fn run_under<'r>(
        &mut self,
        server: Server<'r>,
        load: Loading<'r>,
        writer: &mut Writer,
        run_id: RunId,
    ) -> Result<Finished, Error> {
        let Server { command, options, sink, stop } = server;
        self.observe(Running { command, options, sink, stop, load: Some(load), ahead: None }, writer, run_id)
    }

    fn observe(&mut self, running: Running<'_>, writer: &mut Writer, run_id: RunId) -> Result<Finished, Error> {
        let stacks = Stacks::new(&mut self.interner, &self.cache);
        match self.collector {
            Collector::Bpf => {
                let ahead = self.ahead.clone();
                let programs = ahead.as_deref().map_or_else(Programs::load, Ahead::take)?;
                trace(programs, Running { ahead, ..running }, run_id, stacks, writer)
            }
            Collector::Perf => {
                let period_ns = 1_000_000_000 / sample_hz(usable_processors().len());
                observe(running, run_id, stacks, writer, |pid| {
                    let events = PerfEvents::open(pid, period_ns)?;
                    Ok(PerfSource::new(pid.unsigned_abs(), events, period_ns))
                })
            }
            Collector::Proc => observe(running, run_id, stacks, writer, |pid| Ok(ProcSource::new(pid.unsigned_abs()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capabilities(available: [bool; 3]) -> Vec<Capability> {
        let one = |(collector, available): (Collector, bool)| Capability {
            what: collector.capability().to_owned(),
            available,
            why: "because".to_owned(),
            costs: "answers".to_owned(),
            unlock: None,
        };
        Collector::ALL.into_iter().zip(available).map(one).collect()
    }

    #[test]
    fn the_best_collector_that_is_there_is_chosen() {
        let best = |available| Collector::best(&capabilities(available));
        assert_eq!(best([true, true, true]), Some(Collector::Bpf));
        assert_eq!(best([false, true, true]), Some(Collector::Perf));
        assert_eq!(best([false, false, true]), Some(Collector::Proc));
        assert_eq!(best([false, false, false]), None);
        assert_eq!("perf".parse(), Ok(Collector::Perf));
        assert!("ebpf".parse::<Collector>().is_err());
    }

    #[test]
    fn limitations_say_what_was_used_and_what_it_lacks() {
        let mut found = capabilities([false, true, true]);
        Collector::Perf.explain(false, &mut found);
        assert_eq!(found.len(), 2);
        assert!(found[0].costs.starts_with("runs were observed with perf events: it cannot tell who wakes whom"));
        assert_eq!((found[0].why.as_str(), found[0].available, found[1].available), ("because", false, true));

        let mut found = capabilities([true, true, true]);
        Collector::Proc.explain(true, &mut found);
        assert!(found[0].why.contains("the collector proc was asked for") && !found[0].available);
        assert!(!found[1].available && found[2].available);

        let mut found = capabilities([true, true, true]);
        Collector::Bpf.explain(false, &mut found);
        assert_eq!(found, capabilities([true, false, false])[..1]);
    }
}
