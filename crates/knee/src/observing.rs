//! The choice of a collector: the one asked for, or the best that the machine allows.

use crate::failure::{Failure, Status};
use collect::Collector;
use recording::meta::Capability;

/// Which collector is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The best that works.
    Best,
    /// The user asks for it.
    This(Collector),
    /// The only one that can observe a program that runs already.
    ForRunning,
}

impl Wanted {
    /// What the option says.
    pub(crate) fn from_option(option: Option<Collector>) -> Wanted {
        option.map_or(Wanted::Best, Wanted::This)
    }
}

/// Chooses a collector, and notes in the capabilities which one and what it cannot see. None when nothing can be
/// observed. `lacked`: whether knee ran out of file descriptors when it tried what works.
///
/// # Errors
/// When the collector that was asked for does not work here.
pub(crate) fn choose(
    wanted: Wanted,
    lacked: bool,
    capabilities: &mut Vec<Capability>,
) -> Result<Option<Collector>, Failure> {
    let (asked, prefix, otherwise) = match wanted {
        Wanted::Best => (None, String::new(), ""),
        Wanted::This(asked) => (
            Some(asked),
            format!("the collector {asked} does not work"),
            "without --collector the best that works is taken",
        ),
        Wanted::ForRunning => {
            let prefix = "only eBPF can record a program that runs already, and it does not work".to_owned();
            (Some(Collector::Bpf), prefix, DOCTOR)
        }
    };
    let missing = asked.and_then(|asked| capabilities.iter().find(|c| c.what == asked.capability() && !c.available));
    if let Some(missing) = missing {
        let failure = Failure::new(status(lacked), format!("{prefix}: {}", missing.why));
        return Err(failure.hint(missing.unlock.clone().unwrap_or_else(|| otherwise.to_owned())));
    }
    let chosen = asked.or_else(|| Collector::best(capabilities));
    if let Some(chosen) = chosen {
        chosen.explain(matches!(wanted, Wanted::This(_)), capabilities);
    }
    Ok(chosen)
}

/// The failure of a command that is useless without observing.
pub(crate) fn nothing_works(lacked: bool, capabilities: &[Capability]) -> Failure {
    let found = capabilities.iter().find(|c| c.what == Collector::Bpf.capability());
    let why = found.map_or("eBPF is not available", |c| c.why.as_str());
    let unlock = found.and_then(|c| c.unlock.clone());
    let failure = Failure::new(status(lacked), format!("this machine lets knee observe nothing: {why}"));
    failure.hint(unlock.unwrap_or_else(|| DOCTOR.to_owned()))
}

const DOCTOR: &str = "`knee doctor` says what this machine lacks";

/// The exit status: that of a missing right, unless only file descriptors were missing.
fn status(lacked: bool) -> Status {
    if lacked { Status::Internal } else { Status::Permission }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capabilities(bpf: bool) -> Vec<Capability> {
        let one = |collector: Collector, available| Capability {
            what: collector.capability().to_owned(),
            available,
            why: "not allowed".to_owned(),
            costs: String::new(),
            unlock: Some("use sudo".to_owned()),
        };
        vec![one(Collector::Bpf, bpf), one(Collector::Perf, true), one(Collector::Proc, true)]
    }

    #[test]
    fn the_best_is_taken_unless_another_is_asked_for() {
        let choose = |wanted, mut among: Vec<Capability>| choose(wanted, false, &mut among).unwrap();
        assert_eq!(choose(Wanted::Best, capabilities(true)), Some(Collector::Bpf));
        assert_eq!(choose(Wanted::Best, capabilities(false)), Some(Collector::Perf));
        assert_eq!(choose(Wanted::This(Collector::Proc), capabilities(true)), Some(Collector::Proc));
        assert_eq!(choose(Wanted::ForRunning, capabilities(true)), Some(Collector::Bpf));
        assert_eq!(choose(Wanted::Best, Vec::new()), None);
    }

    #[test]
    fn a_collector_that_does_not_work_is_refused_with_why_and_what_to_do() {
        let refused = |wanted, lacked| choose(wanted, lacked, &mut capabilities(false)).unwrap_err();
        let failure = refused(Wanted::This(Collector::Bpf), false);
        let text = format!("{failure:?}");
        assert!(text.contains("not allowed") && text.contains("use sudo"), "{text}");
        assert_eq!(failure.status, Status::Permission);
    }

    /// The user named a process, not a collector, so the message must not blame --collector.
    #[test]
    fn a_running_program_needs_ebpf_and_no_option_is_blamed() {
        let mut without = capabilities(false);
        without.iter_mut().for_each(|capability| capability.unlock = None);
        let failure = choose(Wanted::ForRunning, false, &mut without).unwrap_err();
        assert!(failure.to_string().contains("only eBPF"), "{failure}");
        assert_eq!(failure.hint.as_deref(), Some(DOCTOR));
    }

    #[test]
    fn a_lack_of_descriptors_is_not_reported_as_a_missing_right() {
        for wanted in [Wanted::This(Collector::Bpf), Wanted::ForRunning] {
            assert_eq!(choose(wanted, true, &mut capabilities(false)).unwrap_err().status, Status::Internal);
        }
        assert_eq!(nothing_works(true, &capabilities(false)).status, Status::Internal);
        assert_eq!(nothing_works(false, &[]).status, Status::Permission);
    }
}
