//! What a descriptor stands for, and what a thread waits for that blocks on it.

use recording::tables::Reason;
use recording::words::PIPE;
use std::path::Path;

/// What a descriptor stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileKind {
    Pipe,
    Socket,
    /// A file, folder or device, by path where that could be read in time.
    Named(Option<String>),
    /// eventfd, epoll, timerfd and the like, by the kernel's name.
    Anonymous(String),
}

impl FileKind {
    /// From the inode's mode, which the kernel saw, and the link in /proc, which may have been read later.
    pub(crate) fn from_mode(mode: u32, link: Option<&Path>) -> Option<FileKind> {
        let text = link.map(|link| link.to_string_lossy().into_owned());
        match mode & libc::S_IFMT {
            libc::S_IFIFO => Some(FileKind::Pipe),
            libc::S_IFSOCK => Some(FileKind::Socket),
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK | libc::S_IFCHR => {
                // The descriptor may have been closed and used again: then the link names something else.
                Some(FileKind::Named(text.filter(|text| text.starts_with('/'))))
            }
            // Inodes without a type are those of anon_inode.
            0 if mode != 0 => {
                let name = text.as_deref().and_then(|text| text.strip_prefix("anon_inode:"));
                Some(FileKind::Anonymous(name.unwrap_or("anonymous file").trim_matches(['[', ']']).to_owned()))
            }
            _ => None,
        }
    }

    /// In words.
    pub(crate) fn name(&self) -> String {
        match self {
            FileKind::Pipe => PIPE.to_owned(),
            FileKind::Socket => "socket".to_owned(),
            FileKind::Named(path) => path.clone().unwrap_or_else(|| "file".to_owned()),
            FileKind::Anonymous(name) => name.clone(),
        }
    }

    /// What a thread waits for when it blocks in reading or writing such a file.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            FileKind::Pipe | FileKind::Socket => Reason::Pipe,
            FileKind::Named(_) => Reason::Io,
            FileKind::Anonymous(_) => Reason::Poll,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_named_by_what_the_kernel_saw() {
        let link = Path::new("/data/file");
        assert_eq!(FileKind::from_mode(0o100644, Some(link)).unwrap().name(), "/data/file");
        // Closed and used again before the link was read.
        assert_eq!(FileKind::from_mode(0o100644, Some(Path::new("socket:[7]"))).unwrap().name(), "file");
        assert_eq!(FileKind::from_mode(0o010600, Some(link)), Some(FileKind::Pipe));
        assert_eq!(FileKind::from_mode(0o140777, None).unwrap().reason(), Reason::Pipe);
        assert_eq!(FileKind::from_mode(0o600, Some(Path::new("anon_inode:[eventfd]"))).unwrap().name(), "eventfd");
        assert_eq!(FileKind::from_mode(0, Some(link)), None);
    }
}
