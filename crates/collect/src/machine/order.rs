//! The order in which a sweep takes the processors: each core once before the second hardware thread of any core, one
//! package after the other.

use super::facts::usable_processors;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The processors that this process may use, in the order in which a sweep adds them.
///
/// Two hardware threads of one core do less work than two cores, so cores come first. Packages are filled one by one,
/// because memory is nearer within a package. Where the machine does not report its topology, processors go by number.
pub fn order() -> Vec<u32> {
    let usable: Vec<u32> = usable_processors().into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect();
    spread(&usable, Path::new("/sys/devices/system/cpu"))
}

fn spread(usable: &[u32], folder: &Path) -> Vec<u32> {
    let mut seen: BTreeMap<(i64, String), u32> = BTreeMap::new();
    let mut placed: Vec<(u32, i64, u32)> = Vec::new();
    for cpu in usable {
        let read = |name| fs::read_to_string(folder.join(format!("cpu{cpu}/topology/{name}"))).unwrap_or_default();
        let package = read("physical_package_id").trim().parse().unwrap_or(-1);
        let siblings = read("thread_siblings_list").trim().to_owned();
        // Without that information, each processor counts as a core.
        let core = if siblings.is_empty() { format!("cpu{cpu}") } else { siblings };
        let before = seen.entry((package, core)).or_default();
        placed.push((*before, package, *cpu));
        *before += 1;
    }
    placed.sort_unstable();
    placed.into_iter().map(|(_, _, cpu)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(cpus: &[(u32, &str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, package, siblings) in cpus {
            let place = folder.path().join(format!("cpu{cpu}/topology"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("physical_package_id"), format!("{package}\n")).unwrap();
            fs::write(place.join("thread_siblings_list"), format!("{siblings}\n")).unwrap();
        }
        folder
    }

    #[test]
    fn cores_come_before_their_second_threads_and_packages_are_filled() {
        let folder = topology(&[(0, "0", "0-1"), (1, "0", "0-1"), (2, "1", "2-3"), (3, "1", "2-3"), (4, "0", "4")]);
        assert_eq!(spread(&[0, 1, 2, 3, 4], folder.path()), [0, 4, 2, 1, 3]);
    }

    #[test]
    fn what_may_not_be_used_is_left_out() {
        let folder = topology(&[(0, "0", "0,2"), (1, "0", "1,3"), (2, "0", "0,2"), (3, "0", "1,3")]);
        assert_eq!(spread(&[2, 3], folder.path()), [2, 3]);
        assert_eq!(spread(&[0, 2, 3], folder.path()), [0, 3, 2]);
    }

    #[test]
    fn without_a_topology_they_keep_their_order() {
        assert_eq!(spread(&[1, 5, 7], Path::new("/nowhere")), [1, 5, 7]);
    }

    #[test]
    fn this_machine_gives_each_processor_once() {
        let mut order = order();
        order.sort_unstable();
        assert_eq!(order, usable_processors().into_iter().map(|cpu| cpu as u32).collect::<Vec<_>>());
    }
}
