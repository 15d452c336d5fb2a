//! Who called knee: under sudo, the target runs as the user who typed the command, and that user owns the files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The user on whose behalf knee runs as root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Login name.
    pub name: String,
    /// Home folder, when the user data base has it.
    pub home: Option<PathBuf>,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// The caller behind sudo; `None` when knee was not started through it or is not root.
pub fn sudo_caller() -> Option<Caller> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    caller(number("SUDO_UID")?, number("SUDO_GID")?, std::env::var("SUDO_USER").ok()?, "/etc/passwd", "/etc/group")
}

fn caller(uid: u32, gid: u32, name: String, passwd: &str, group: &str) -> Option<Caller> {
    if uid == 0 {
        return None;
    }
    let passwd = std::fs::read_to_string(passwd).unwrap_or_default();
    let home = passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.len() >= 6 && fields[0] == name).then(|| PathBuf::from(fields[5]))
    });
    let groups = std::fs::read_to_string(group).unwrap_or_default();
    let mut groups: Vec<u32> = groups
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let member = fields.len() >= 4 && fields[3].split(',').any(|m| m == name);
            if member { fields[2].parse().ok() } else { None }
        })
        .collect();
    groups.push(gid);
    groups.dedup();
    Some(Caller { uid, gid, name, home, groups })
}

impl Caller {
    /// The environment that sudo changed, as the caller had it; `None` removes a variable.
    pub(crate) fn environment(&self) -> Vec<(&'static str, Option<OsString>)> {
        vec![
            ("USER", Some(self.name.clone().into())),
            ("LOGNAME", Some(self.name.clone().into())),
            ("HOME", self.home.clone().map(PathBuf::into_os_string)),
            ("SUDO_UID", None),
            ("SUDO_GID", None),
            ("SUDO_USER", None),
            ("SUDO_COMMAND", None),
        ]
    }
}

/// Gives a folder and everything in it to the caller behind sudo. Does nothing otherwise.
///
/// # Errors
/// When the folder cannot be read or an owner cannot be changed.
pub fn give_to_caller(folder: &Path) -> std::io::Result<()> {
    match sudo_caller() {
        Some(caller) => give(folder, &caller),
        None => Ok(()),
    }
}

fn give(path: &Path, caller: &Caller) -> std::io::Result<()> {
    std::os::unix::fs::lchown(path, Some(caller.uid), Some(caller.gid))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give(&entry?.path(), caller)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_has_home_and_groups() {
        let folder = std::env::temp_dir().join(format!("knee-caller-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (passwd, group) = (folder.join("passwd"), folder.join("group"));
        std::fs::write(&passwd, "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n").unwrap();
        std::fs::write(&group, "adm:x:4:bob,ann\nvideo:x:44:bob\nann:x:1000:\n").unwrap();
        let path = |p: &Path| p.to_str().unwrap().to_owned();
        let ann = caller(1000, 1000, "ann".into(), &path(&passwd), &path(&group)).unwrap();
        assert_eq!(ann.home.as_deref(), Some(Path::new("/home/ann")));
        assert_eq!(ann.groups, [4, 1000]);
        assert_eq!(caller(0, 0, "root".into(), &path(&passwd), &path(&group)), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
