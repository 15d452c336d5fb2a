//! Control groups of this process, which the target inherits, or of a process that runs already: quotas of processor
//! time, and how often they throttled. Both cgroup versions. (A cpuset shows in the affinity: see `machine`.)

use std::fs;
use std::path::{Path, PathBuf};

/// How much quotas have throttled so far, summed over all groups that have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Throttled {
    /// Time that threads were kept from running, summed over processors.
    pub(crate) ns: u64,
    /// Periods in which that happened.
    pub(crate) periods: u64,
}

/// The groups that a process is in, from its own up to the highest visible one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Groups {
    cpu: Vec<PathBuf>,
}

impl Groups {
    /// Those of this process.
    pub(crate) fn own() -> Groups {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        Groups::from_text(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
    }

    /// Those of another process.
    pub(crate) fn of_process(pid: u32) -> Groups {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let cgroup = read(&format!("/proc/{pid}/cgroup"));
        let seen = Groups::from_text(&cgroup, &read("/proc/self/mountinfo"));
        if !seen.cpu.is_empty() {
            return seen;
        }
        // In a container beside the process's, with its own part of the hierarchy mounted: only the process's mount
        // shows the process's groups.
        Groups::from_text(&cgroup, &read(&format!("/proc/{pid}/mountinfo")))
            .below(&PathBuf::from(format!("/proc/{pid}/root")))
    }

    /// The same folders in the mount namespace that has `root` as its root.
    fn below(self, root: &Path) -> Groups {
        let inside = |folder: PathBuf| root.join(folder.strip_prefix("/").unwrap_or(&folder));
        Groups { cpu: self.cpu.into_iter().map(inside).collect() }
    }

    /// From the texts of proc_pid_cgroup(5) and proc_pid_mountinfo(5).
    fn from_text(cgroup: &str, mountinfo: &str) -> Groups {
        let mut groups = Groups::default();
        for line in cgroup.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let has = |wanted: &str| controllers.split(',').any(|controller| controller == wanted);
            let unified = controllers.is_empty();
            // On machines with both versions the second has no controllers of its own.
            if has("cpu") || (unified && groups.cpu.is_empty()) {
                groups.cpu = folders(mountinfo, if unified { None } else { Some("cpu") }, path);
            }
        }
        groups
    }

    /// The tightest quota of processor time, thousandths of a processor: 1500 allows 150 ms in each 100 ms.
    pub(crate) fn quota(&self) -> Option<u64> {
        let quotas = self.cpu.iter().filter_map(|folder| {
            let read = |file| fs::read_to_string(folder.join(file)).ok();
            match read("cpu.max") {
                Some(text) => parse_max(&text),
                None => parse_quota(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?),
            }
        });
        quotas.min()
    }

    /// How much quotas have throttled; `None` when no group has a quota.
    pub(crate) fn throttled(&self) -> Option<Throttled> {
        let all = self.cpu.iter().filter_map(|folder| parse_stat(&fs::read_to_string(folder.join("cpu.stat")).ok()?));
        all.reduce(|a, b| Throttled { ns: a.ns.saturating_add(b.ns), periods: a.periods.saturating_add(b.periods) })
    }
}

impl Throttled {
    /// The growth since `before`.
    pub(crate) fn since(self, before: Throttled) -> Throttled {
        Throttled { ns: self.ns.saturating_sub(before.ns), periods: self.periods.saturating_sub(before.periods) }
    }
}

/// The folders of a group and of those above it, in the hierarchy of a controller (`None` for version 2).
fn folders(mountinfo: &str, controller: Option<&str>, path: &str) -> Vec<PathBuf> {
    for line in mountinfo.lines() {
        // Fields 4 and 5 are the mounted part of the hierarchy and its mount point; after ` - ` come type, source,
        // options.
        let Some((front, back)) = line.split_once(" - ") else { continue };
        let front: Vec<&str> = front.split(' ').collect();
        let back: Vec<&str> = back.split(' ').collect();
        let (Some(root), Some(mount), Some(kind)) = (front.get(3), front.get(4), back.first()) else { continue };
        let fits = match controller {
            None => *kind == "cgroup2",
            Some(name) => *kind == "cgroup" && back.get(2).is_some_and(|options| options.split(',').any(|o| o == name)),
        };
        if !fits {
            continue;
        }
        // In a container, the mount shows only the part below the container's group, which may not include this group.
        let Ok(below) = Path::new(path).strip_prefix(root) else { continue };
        if below.components().any(|part| part == std::path::Component::ParentDir) {
            continue;
        }
        let mount = PathBuf::from(unescape(mount));
        let own = mount.join(below);
        return own.ancestors().take_while(|folder| folder.starts_with(&mount)).map(Path::to_owned).collect();
    }
    Vec::new()
}

/// mountinfo writes spaces and other special characters in paths as `\040` and so on.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

/// `cpu.max`: quota and period in microseconds, or `max`.
fn parse_max(text: &str) -> Option<u64> {
    let (quota, period) = text.trim().split_once(' ')?;
    parse_quota(quota, period)
}

fn parse_quota(quota: &str, period: &str) -> Option<u64> {
    // Version 1 writes -1 for none, version 2 `max`.
    let quota: u64 = quota.trim().parse().ok()?;
    let period: u64 = period.trim().parse().ok().filter(|period| *period > 0)?;
    Some(quota.saturating_mul(1000) / period)
}

/// `cpu.stat`: version 1 has the time as `throttled_time` in nanoseconds, version 2 as `throttled_usec` in µs.
fn parse_stat(text: &str) -> Option<Throttled> {
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    let ns = field("throttled_time").or_else(|| field("throttled_usec")?.checked_mul(1000))?;
    Some(Throttled { ns, periods: field("nr_throttled")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n\
                      34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn groups_of_both_versions_are_found() {
        let groups = Groups::from_text("4:cpu,cpuacct:/a/b\n3:cpuset:/s\n0::/u\n", V1);
        let cpu = ["/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/cpu,cpuacct"];
        assert_eq!(groups.cpu, cpu.map(PathBuf::from));
        let groups = Groups::from_text("0::/user.slice/x\n", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_eq!(groups.cpu.first(), Some(&PathBuf::from("/sys/fs/cgroup/user.slice/x")));
        assert_eq!(groups.cpu.len(), 3);
    }

    #[test]
    fn a_container_sees_its_own_part() {
        let mounts = "30 1 0:26 /docker/c /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(Groups::from_text("0::/docker/c\n", mounts).cpu, [PathBuf::from("/sys/fs/cgroup/")]);
        assert_eq!(Groups::from_text("0::/elsewhere\n", mounts), Groups::default());
        assert_eq!(Groups::from_text("0::/docker/c/../../x\n", mounts).cpu, Vec::<PathBuf>::new());
    }

    /// The kernel states paths as seen from the reader's control group, in both files.
    #[test]
    fn a_container_beside_it_sees_a_process_through_its_root() {
        let own = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(Groups::from_text("0::/../target\n", own), Groups::default());
        let its = "90 80 0:26 /../target /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        let groups = Groups::from_text("0::/../target\n", its).below(Path::new("/proc/7/root"));
        assert_eq!(groups.cpu, [PathBuf::from("/proc/7/root/sys/fs/cgroup/")]);
    }

    #[test]
    fn the_groups_of_this_process_are_its_own_from_outside_too() {
        assert_eq!(Groups::of_process(std::process::id()), Groups::own());
    }

    #[test]
    fn quotas_and_throttling_of_both_versions_are_read() {
        assert_eq!(parse_max("150000 100000\n"), Some(1500));
        assert_eq!(parse_max("max 100000"), None);
        assert_eq!(parse_quota("-1\n", "100000\n"), None);
        assert_eq!(parse_quota("5", "0"), None);
        let v1 = "nr_periods 10\nnr_throttled 3\nthrottled_time 4000\n";
        assert_eq!(parse_stat(v1), Some(Throttled { ns: 4000, periods: 3 }));
        let v2 = "usage_usec 1\nnr_periods 10\nnr_throttled 3\nthrottled_usec 4\n";
        assert_eq!(parse_stat(v2), Some(Throttled { ns: 4000, periods: 3 }));
        assert_eq!(parse_stat("usage_usec 7\n"), None);
        assert_eq!(parse_stat("nr_throttled 1\nthrottled_usec 18446744073709551615\n"), None);
        let (before, after) = (Throttled { ns: 5, periods: 1 }, Throttled { ns: 9, periods: 1 });
        assert_eq!(after.since(before), Throttled { ns: 4, periods: 0 });
    }

    #[test]
    fn reading_the_groups_of_this_process_fails_nowhere() {
        let groups = Groups::own();
        let _ = (groups.quota(), groups.throttled());
    }
}
