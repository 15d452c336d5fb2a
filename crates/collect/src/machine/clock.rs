//! The processors' clock and heat, where the machine reports them: few virtual machines do.
//!
//! Linux, Documentation/ABI/testing/sysfs-devices-system-cpu: `cpufreq/scaling_cur_freq` is the recent clock in kHz,
//! `thermal_throttle/core_throttle_count` counts how often a core was slowed down (x86 only).

use std::fs;
use std::path::{Path, PathBuf};

/// The processors that are online.
#[derive(Debug, Clone)]
pub(crate) struct Processors {
    folders: Vec<PathBuf>,
}

impl Processors {
    pub(crate) fn of_machine() -> Processors {
        Processors::under(Path::new("/sys/devices/system/cpu"))
    }

    fn under(folder: &Path) -> Processors {
        let is_number = |name: &str| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let processors = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_number));
        Processors { folders: processors.map(|entry| entry.path()).collect() }
    }

    /// The highest clock of any processor, kHz; none where the machine does not report it.
    pub(crate) fn clock_khz(&self) -> Option<u64> {
        self.numbers("cpufreq/scaling_cur_freq").max()
    }

    /// Times that processors throttled themselves since boot; none where the machine does not report it.
    pub(crate) fn thermal_throttles(&self) -> Option<u64> {
        self.numbers("thermal_throttle/core_throttle_count").reduce(u64::saturating_add)
    }

    fn numbers<'a>(&'a self, file: &'a str) -> impl Iterator<Item = u64> + 'a {
        self.folders.iter().filter_map(move |folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_tells_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let read = || Processors::under(folder.path());
        write("cpufreq/scaling_cur_freq", "9000000\n");
        write("cpu0/topology/core_id", "0\n");
        assert_eq!((read().clock_khz(), read().thermal_throttles()), (None, None));
        write("cpu0/cpufreq/scaling_cur_freq", "2100000\n");
        write("cpu11/cpufreq/scaling_cur_freq", "3400000\n");
        write("cpu11/thermal_throttle/core_throttle_count", "2\n");
        write("cpu0/thermal_throttle/core_throttle_count", "what\n");
        assert_eq!((read().clock_khz(), read().thermal_throttles()), (Some(3_400_000), Some(2)));
        assert_eq!(Processors::under(Path::new("/nowhere")).clock_khz(), None);
    }
}
