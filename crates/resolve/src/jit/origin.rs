//! The process that writes files about its code: where these files are for this process, and whether they are really
//! its own.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::module::open_regular;

/// Clock ticks a second in /proc: USER_HZ is 100 on every architecture that knee knows.
const TICKS: i64 = 100;

/// How many seconds older than its process a file may seem: the boot time has whole seconds, and times of files are
/// those of the last clock tick.
const SLACK: i64 = 2;

/// How many folders are kept open at once: a build may start thousands of runtimes, and a process may by default have
/// 1,024 files open. Processes beyond this get no names.
const FOLDERS_LIMIT: usize = 256;

static FOLDERS: AtomicUsize = AtomicUsize::new(0);

/// A folder that is kept open and counted.
#[derive(Debug)]
struct Folder(File);

impl Folder {
    fn open(path: &str) -> Option<Folder> {
        if FOLDERS.fetch_add(1, Ordering::Relaxed) < FOLDERS_LIMIT
            && let Ok(file) = File::open(path)
        {
            return Some(Folder(file));
        }
        FOLDERS.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        FOLDERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A process that may write files with the names of its code.
#[derive(Debug)]
pub(crate) struct Origin {
    pid: u32,
    /// Its number in its own PID namespace, which is in the names of its files.
    own_pid: u32,
    /// The users that may own its files: its real and its effective user.
    users: [u32; 2],
    /// When it began, seconds of the Unix epoch.
    began: i64,
    /// Its `/tmp`, kept open because the process's own view of the files ends with it.
    folder: Option<Folder>,
}

impl Origin {
    /// A living process; none when it has ended or may not be inspected.
    pub(crate) fn for_process(pid: u32) -> Option<Origin> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let boot = boot_time(&std::fs::read_to_string("/proc/stat").ok()?)?;
        let (own_pid, users) = numbers(&status)?;
        let began = boot.checked_add(start_ticks(&stat)? / TICKS)?;
        let folder = Folder::open(&format!("/proc/{pid}/root/tmp"));
        Some(Origin { pid, own_pid, users, began, folder })
    }

    /// Opens its map file, `/tmp/perf-PID.map`. None while there is no file that it can have written.
    pub(crate) fn open_map(&self) -> Option<File> {
        let folder = self.folder.as_ref()?;
        self.open(&PathBuf::from(format!("/proc/self/fd/{}/perf-{}.map", folder.0.as_raw_fd(), self.own_pid)))
    }

    /// Opens the file with this path that it has mapped at `start..end`.
    pub(crate) fn open_mapped(&self, start: u64, end: u64, path: &Path) -> Option<File> {
        let link = PathBuf::from(format!("/proc/{}/map_files/{start:x}-{end:x}", self.pid));
        let below = Path::new(&format!("/proc/{}/root", self.pid)).join(path.strip_prefix("/").unwrap_or(path));
        self.open(&link).or_else(|| self.open(&below))
    }

    /// Opens a file only if it belongs to the process: anybody can leave a file in a shared folder, and so can an
    /// earlier process with the same number.
    fn open(&self, path: &Path) -> Option<File> {
        let (file, metadata) = open_regular(path).ok()?;
        let own = self.users.contains(&metadata.uid());
        let modified = metadata.modified().unwrap_or(SystemTime::now()).duration_since(UNIX_EPOCH).ok()?;
        let current = i64::try_from(modified.as_secs()).ok()? >= self.began - SLACK;
        (own && current).then_some(file)
    }
}

/// The last number of `NSpid` (older kernels: `Pid`), and the first two of `Uid`, of `/proc/PID/status`.
fn numbers(status: &str) -> Option<(u32, [u32; 2])> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let pid = field("NSpid:").or_else(|| field("Pid:"))?.split_ascii_whitespace().next_back()?.parse().ok()?;
    let mut users = field("Uid:")?.split_ascii_whitespace().map(str::parse);
    Some((pid, [users.next()?.ok()?, users.next()?.ok()?]))
}

/// proc_stat(5): `btime`, seconds of the Unix epoch.
fn boot_time(text: &str) -> Option<i64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// proc_pid_stat(5), field 22: when the process began, in clock ticks after boot.
fn start_ticks(text: &str) -> Option<i64> {
    text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_process_has_the_pid_of_its_innermost_namespace() {
        let status = "Name:\tx\nPid:\t4711\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t4711\t52\t7\n";
        assert_eq!(numbers(status), Some((7, [1000, 1001])));
        assert_eq!(numbers("Pid:\t4711\nUid:\t0\t0\n"), Some((4711, [0, 0])));
        assert_eq!(numbers("Pid:\t4711\n"), None);
        let stat = "7 (a ) b) S 1 1 1 0 -1 4194304 101 0 7 0 3 2 0 0 20 0 1 0 98765 6 7";
        assert_eq!(start_ticks(stat), Some(98765));
        assert_eq!(boot_time("cpu 1\nbtime 1700000000\n"), Some(1_700_000_000));
    }

    #[test]
    fn only_files_that_the_process_can_have_written_are_taken() {
        let mut origin = Origin::for_process(std::process::id()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        origin.folder = Folder::open(folder.path().to_str().unwrap());
        assert!(origin.open_map().is_none());
        let path = folder.path().join(format!("perf-{}.map", origin.own_pid));
        fs::write(&path, "").unwrap();
        assert!(origin.open_map().is_some());
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).unwrap();
        assert!(origin.open_map().is_none(), "of an earlier process");
        file.set_modified(SystemTime::now()).unwrap();
        origin.users = [u32::MAX, u32::MAX];
        assert!(origin.open_map().is_none(), "of another user");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(origin.open_map().is_none());
    }
}
