//! Sockets at which processes listen, according to /proc.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// TCP_LISTEN in the column `st` of proc_net_tcp(5) (linux/tcp_states.h).
const LISTENING: &str = "0A";
/// `__SO_ACCEPTCON` in the column `Flags` of /proc/net/unix: the socket listens (linux/net.h).
const ACCEPTS: u32 = 1 << 16;

/// What a socket is called at which connections are taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SocketName {
    /// The program's own TCP port.
    Port(u16),
    /// The TCP address of another.
    Tcp(SocketAddr),
    /// A path in the file system, as [`path_name`] gives it.
    Path(String),
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketName::Port(port) => write!(f, "port {port}"),
            SocketName::Tcp(address) => address.fmt(f),
            SocketName::Path(path) if path.starts_with(['/', '@']) => f.write_str(path),
            // As it was bound. A file may be called like an address.
            SocketName::Path(path) => write!(f, "./{path}"),
        }
    }
}

/// The bytes of a socket's path as /proc/net/unix writes them: zero bytes, with which an abstract name begins, are `@`.
pub(crate) fn path_name(bytes: &[u8]) -> String {
    if bytes.first() == Some(&0) {
        return String::from_utf8_lossy(bytes).replace('\0', "@");
    }
    let path = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(path).into_owned()
}

/// A socket that takes connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    /// The TCP port; none for a socket in the file system.
    pub(crate) port: Option<u16>,
    /// The path of a socket in the file system.
    path: Option<String>,
    inode: u64,
}

impl Listener {
    /// Whether connections to this name, on this machine, come here.
    fn is_at(&self, name: &SocketName) -> bool {
        match name {
            SocketName::Port(port) => self.port == Some(*port),
            SocketName::Tcp(address) => address.ip().is_loopback() && self.port == Some(address.port()),
            SocketName::Path(path) => self.path.as_ref() == Some(path),
        }
    }
}

/// All listening sockets in the network namespace of a process.
pub(crate) fn listeners(pid: &str) -> Vec<Listener> {
    // Paths may hold any bytes.
    let bytes = |table: &str| fs::read(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
    let read = |table: &str| String::from_utf8_lossy(&bytes(table)).into_owned();
    let mut found = tcp(&read("tcp"));
    found.extend(tcp(&read("tcp6")));
    found.extend(unix(&read("unix")));
    found
}

/// The sockets at which a process listens; `None` where its descriptors cannot be read.
pub(crate) fn listening(pid: u32) -> Option<Vec<Listener>> {
    owned(&[pid], &listeners(&pid.to_string())).map(|own| own.into_iter().cloned().collect())
}

/// The name of the program on this machine that listens there, as far as it can be seen.
pub(crate) fn program_at(name: &SocketName) -> Option<String> {
    let at: Vec<Listener> = listeners("self").into_iter().filter(|listener| listener.is_at(name)).collect();
    if at.is_empty() {
        return None;
    }
    let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut of: Vec<u32> = processes.filter(|pid| owned(&[*pid], &at).is_some_and(|own| !own.is_empty())).collect();
    // A parent hands its socket on to its workers.
    of.sort_unstable();
    let name = fs::read_to_string(format!("/proc/{}/comm", of.first()?)).ok()?;
    Some(name.trim_end().to_owned())
}

/// Which of these sockets are open in one of these processes; `None` where no descriptor of theirs can be read.
pub(crate) fn owned<'l>(pids: &[u32], listeners: &'l [Listener]) -> Option<Vec<&'l Listener>> {
    let mut known = false;
    let mut inodes: HashSet<u64> = HashSet::new();
    for pid in pids {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        known = true;
        let links = descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        inodes.extend(links.filter_map(|link| socket(&link)));
    }
    known.then(|| listeners.iter().filter(|listener| inodes.contains(&listener.inode)).collect())
}

/// The number in `socket:[123]`.
fn socket(link: &Path) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// proc_net_tcp(5): `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode`, addresses and ports in
/// hexadecimal.
fn tcp(table: &str) -> Vec<Listener> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
        let inode = fields.get(9)?.parse().ok()?;
        (*fields.get(3)? == LISTENING).then_some(Listener { port: Some(port), path: None, inode })
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// proc_net_unix(5): `Num RefCount Protocol Flags Type St Inode Path`. The path, which may hold spaces, is all the
/// rest.
fn unix(table: &str) -> Vec<Listener> {
    let row = |line: &str| {
        let (mut fields, mut rest) = ([""; 7], line);
        for field in &mut fields {
            (*field, rest) = rest.trim_start_matches(' ').split_once(' ')?;
        }
        let [_, _, _, flags, _, _, inode] = fields;
        let flags = u32::from_str_radix(flags, 16).ok()?;
        let inode = inode.parse().ok()?;
        (flags & ACCEPTS != 0).then(|| Listener { port: None, path: Some(rest.to_owned()), inode })
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51234 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D2A4 01 00000000:00000000 00:00000000 00000000  1000        0 51240 1 0000000000000000 20 4 30 10 -1
";
    const TCP6: &str = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0000000000000000 100 0 0 10 0
";
    const UNIX: &str = "Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/app.sock
0000000000000000: 00000002 00000000 00010000 0005 01   777 @the app
0000000000000000: 00000003 00000000 00000000 0001 03 12346 /run/app.sock
0000000000000000: 00000003 00000000 00000000 0001 03 12347
";

    #[test]
    fn only_what_listens_is_taken() {
        let at_port = |port, inode| [Listener { port: Some(port), path: None, inode }];
        let at_path = |path: &str, inode| Listener { port: None, path: Some(path.to_owned()), inode };
        assert_eq!(tcp(TCP), at_port(8080, 51234));
        assert_eq!(tcp(TCP6), at_port(80, 777));
        assert_eq!(unix(UNIX), [at_path("/run/app.sock", 12345), at_path("@the app", 777)]);
        for text in ["", "x", "head\nx", "head\n0: zz:zz 0 0A", "head\n 0 1 2 ffffffffffff 4 5 6"] {
            assert!(tcp(text).is_empty() && unix(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_socket_is_its_process_s() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = || {
            let all = listeners("self");
            let of = owned(&[std::process::id()], &all).unwrap();
            of.into_iter().any(|listener| listener.port == Some(port))
        };
        assert!(own());
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        let at = |address: [u8; 4]| program_at(&SocketName::Tcp((address, port).into()));
        assert_eq!(at([127, 0, 0, 1]).as_deref(), Some(name.trim_end()));
        assert_eq!(at([192, 0, 2, 1]), None);
        drop(listener);
        assert!(!own());
        assert_eq!(owned(&[u32::MAX], &[]), None);
        assert!(listening(u32::MAX).is_none());
        assert_eq!(socket(Path::new("socket:[17]")), Some(17));
        assert_eq!(socket(Path::new("/dev/null")), None);
    }

    #[test]
    fn who_listens_at_a_path_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("the socket");
        let at = |path: &Path| program_at(&SocketName::Path(path.to_str().unwrap().to_owned()));
        let listener = UnixListener::bind(&path).unwrap();
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(at(&path).as_deref(), Some(name.trim_end()));
        assert_eq!(at(&folder.path().join("the sock")), None);
        drop(listener);
        assert_eq!(at(&path), None, "the file is still there, but nobody listens");
    }

    /// A path may be any bytes, and a file may be called like an address.
    #[test]
    fn a_path_is_told_as_the_kernel_tells_it() {
        for (bytes, told) in [
            (&b"/run/app.sock\0"[..], "/run/app.sock"),
            (b"/run/app.sock", "/run/app.sock"),
            (b"\0app\0two", "@app@two"),
            (b"app.sock\0", "./app.sock"),
            (b"port 80\0", "./port 80"),
            (b"127.0.0.1:80", "./127.0.0.1:80"),
            (b"/\xff\0", "/\u{fffd}"),
            (b"", "./"),
        ] {
            assert_eq!(SocketName::Path(path_name(bytes)).to_string(), told);
        }
    }
}
