//! What `perf script --header` says about the machine and the command, in lines that begin with `#`
//! (tools/perf/util/header.c).

use crate::event::Time;
use recording::meta::Machine;

/// What was found. Every field may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) model: Option<String>,
    pub(crate) architecture: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) processors: Option<u32>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) command: Option<String>,
    /// The requested sampling frequency by event, samples per second.
    hertz: Vec<(Time, u64)>,
}

impl Header {
    /// Parses a comment line.
    pub(crate) fn take(&mut self, line: &str) {
        let Some((name, value)) = line.trim_start_matches('#').split_once(':') else { return };
        let value = value.trim();
        let text = || Some(value.to_owned()).filter(|text| !text.is_empty());
        match name.trim() {
            "cpudesc" => self.model = text(),
            "arch" => self.architecture = text(),
            "os release" => self.kernel = text(),
            "nrcpus online" => self.processors = value.parse().ok().filter(|n| *n > 0),
            "total memory" => {
                let kilobytes = value.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
                self.memory_bytes = kilobytes.and_then(|n| n.checked_mul(1024));
            }
            "cmdline" => self.command = text(),
            "event" => self.hertz.extend(frequency(value)),
            _ => {}
        }
    }

    /// The requested sampling frequency of an event, samples per second.
    pub(crate) fn hertz(&self, event: Time) -> Option<u64> {
        self.hertz.iter().find(|(of, _)| *of == event).map(|(_, hertz)| *hertz)
    }

    /// The machine, as far as the header describes it; the rest is empty or 0. `seen`: processors that samples name.
    pub(crate) fn machine(&self, seen: u32) -> Machine {
        let processors = self.processors.unwrap_or(0).max(seen).max(1);
        Machine {
            processors,
            usable_processors: processors,
            usable_cores: 0,
            quota_milliprocessors: None,
            model: self.model.clone().unwrap_or_default(),
            architecture: self.architecture.clone().unwrap_or_default(),
            kernel: self.kernel.clone().unwrap_or_default(),
            hypervisor: None,
            memory_bytes: self.memory_bytes.unwrap_or(0),
            distribution: None,
        }
    }
}

/// `name = cycles:P, , id = { 1 }, ..., { sample_period, sample_freq } = 4000, ..., freq = 1, ...`
fn frequency(text: &str) -> Option<(Time, u64)> {
    let field = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        rest.split([',', ' ']).find(|part| !part.is_empty())
    };
    let event = Time::from_event(field("name = ")?)?;
    let hertz: u64 = field("sample_freq } = ")?.parse().ok()?;
    let asked = text.split(',').any(|part| part.trim() == "freq = 1");
    (asked && (1..=1_000_000).contains(&hertz)).then_some((event, hertz))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_describe_the_machine() {
        let mut header = Header::default();
        for line in [
            "# hostname : host",
            "# os release : 6.1.0-18-amd64",
            "# arch : x86_64",
            "# nrcpus online : 8",
            "# cpudesc : Some CPU @ 2.00GHz: fast",
            "# total memory : 2048 kB",
            "# cmdline : /usr/bin/perf record -F 999 -g ./app 4 ",
            "# event : name = cpu-clock, , type = 1, size = 136, { sample_period, sample_freq } = 999, sample_type = IP|TID, disabled = 1, freq = 1, sample_id_all = 1",
            "# event : name = cycles, , { sample_period, sample_freq } = 1000000, disabled = 1",
            "#",
        ] {
            header.take(line);
        }
        let machine = header.machine(3);
        assert_eq!((machine.processors, machine.model.as_str()), (8, "Some CPU @ 2.00GHz: fast"));
        assert_eq!((machine.kernel.as_str(), machine.memory_bytes), ("6.1.0-18-amd64", 2 << 20));
        assert_eq!(header.command.as_deref(), Some("/usr/bin/perf record -F 999 -g ./app 4"));
        assert_eq!(Time::from_event("cpu-clock").and_then(|event| header.hertz(event)), Some(999));
        assert_eq!(
            Time::from_event("cycles").and_then(|event| header.hertz(event)),
            None,
            "a fixed period is not a frequency"
        );
    }
}
