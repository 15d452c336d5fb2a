//! Messages about runs of a server under load that gave no result, each with the next step.

use crate::throughput::Found;
use collect::{Error, Exit};

/// The message when a run was given up because of the program; none for knee's own failures.
pub(crate) fn of_error(error: &Error) -> Option<String> {
    let next = match error {
        Error::Timeout { .. } => return Some(error.to_string()),
        Error::NotReady { .. } => "--ready says what else to wait for, --ready-within how long",
        Error::PortTaken { .. } => "end that, or give the server another port",
        Error::ServerEnded { was_ready: false, exit: Exit::Status(0) } => {
            "knee needs it in the foreground: most servers have an option or a setting that keeps them from becoming a daemon"
        }
        Error::ServerEnded { was_ready: false, .. } => "its output, in the recording's folder, may say why",
        Error::ServerEnded { was_ready: true, .. } => "it may survive with fewer clients",
        _ => return None,
    };
    Some(format!("{error}; {next}"))
}

/// Why the result of a load that ended without an error is useless. `given`: the user gave a throughput pattern.
pub(crate) fn nothing_done(found: &Found, given: bool) -> Option<String> {
    match &found.load {
        Some(report) if report.rate <= 0.0 && !given => {
            let failed = report.errors.map_or("all".to_owned(), |errors| errors.to_string());
            Some(format!("nothing that the load asked for succeeded ({failed} failed)"))
        }
        _ if found.any() || (found.load.is_some() && !given) => None,
        _ if given => Some("the throughput pattern matched no number in the load's output".to_owned()),
        _ => Some("the load printed no throughput that knee knows; --throughput REGEX takes it from a line".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_next_step() {
        let message = |error: &Error| of_error(error).unwrap();
        let ended = |was_ready, exit| message(&Error::ServerEnded { was_ready, exit });
        assert_eq!(
            message(&Error::NotReady { seconds: 60.0, until: "it listens".to_owned() }),
            "the server was not ready within 60 s: knee waited until it listens; --ready says what else to wait for, \
             --ready-within how long"
        );
        assert!(
            ended(false, Exit::Status(0))
                .starts_with("the server ended before it was ready (exit status 0); knee needs")
        );
        assert!(ended(true, Exit::Signal(11)).starts_with("the server ended while the load ran (signal 11); "));
        assert!(of_error(&Error::Interrupted).is_none());
    }

    #[test]
    fn a_load_without_a_throughput_gives_no_result() {
        assert!(nothing_done(&Found::default(), false).unwrap().contains("--throughput"));
        assert!(nothing_done(&Found::default(), true).unwrap().contains("pattern"));
    }
}
