//! The choice of a collector: the one asked for, or the best that the machine allows.

use crate::failure::{Failure, Status};
use collect::Collector;
use recording::meta::Capability;

/// Chooses, and notes in the capabilities what was chosen and what it cannot tell. None when nothing can be observed.
///
/// # Errors
/// When the collector that was asked for does not work here.
pub(crate) fn choose(
    asked: Option<Collector>,
    capabilities: &mut Vec<Capability>,
) -> Result<Option<Collector>, Failure> {
    let chosen = match asked {
        Some(asked) => {
            if let Some(missing) = capabilities.iter().find(|c| c.what == asked.capability() && !c.available) {
                let failure =
                    Failure::new(Status::Permission, format!("the collector {asked} does not work: {}", missing.why));
                return Err(match &missing.unlock {
                    Some(unlock) => failure.hint(unlock.clone()),
                    None => failure.hint("without --collector the best that works is taken"),
                });
            }
            Some(asked)
        }
        None => Collector::best(capabilities),
    };
    if let Some(chosen) = chosen {
        chosen.explain(asked.is_some(), capabilities);
    }
    Ok(chosen)
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
        assert_eq!(choose(None, &mut capabilities(true)).unwrap(), Some(Collector::Bpf));
        assert_eq!(choose(None, &mut capabilities(false)).unwrap(), Some(Collector::Perf));
        assert_eq!(choose(Some(Collector::Proc), &mut capabilities(true)).unwrap(), Some(Collector::Proc));
        assert_eq!(choose(None, &mut Vec::new()).unwrap(), None);
    }

    #[test]
    fn asking_for_what_does_not_work_says_why_and_what_to_do() {
        let failure = choose(Some(Collector::Bpf), &mut capabilities(false)).unwrap_err();
        let text = format!("{failure:?}");
        assert!(text.contains("not allowed") && text.contains("use sudo"), "{text}");
    }
}
