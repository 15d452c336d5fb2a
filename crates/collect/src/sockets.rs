//! Sockets at which processes listen, according to /proc.

use std::collections::HashSet;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

/// TCP_LISTEN in the column `st` of proc_net_tcp(5) (linux/tcp_states.h).
const LISTENING: &str = "0A";
/// `__SO_ACCEPTCON` in the column `Flags` of /proc/net/unix: the socket listens (linux/net.h).
const ACCEPTS: u32 = 1 << 16;

/// A socket that takes connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listener {
    /// The TCP port; none for a socket in the file system.
    pub(crate) port: Option<u16>,
    inode: u64,
}

/// All listening sockets in the network namespace of a process.
pub(crate) fn listeners(pid: &str) -> Vec<Listener> {
    let read = |table: &str| fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
    let mut found = tcp(&read("tcp"));
    found.extend(tcp(&read("tcp6")));
    found.extend(unix(&read("unix")));
    found
}

/// The sockets at which a process listens; `None` where its descriptors cannot be read.
pub(crate) fn listening(pid: u32) -> Option<Vec<Listener>> {
    owned(&[pid], &listeners(&pid.to_string())).map(|own| own.into_iter().copied().collect())
}

/// The name of the program on this machine that listens at an address, as far as it can be seen.
pub(crate) fn program_at(address: IpAddr, port: u16) -> Option<String> {
    let all = listeners("self");
    if !address.is_loopback() || !all.iter().any(|listener| listener.port == Some(port)) {
        return None;
    }
    let at: Vec<Listener> = all.into_iter().filter(|listener| listener.port == Some(port)).collect();
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
        (*fields.get(3)? == LISTENING).then_some(Listener { port: Some(port), inode })
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// proc_net_unix(5): `Num RefCount Protocol Flags Type St Inode Path`.
fn unix(table: &str) -> Vec<Listener> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
        let inode = fields.get(6)?.parse().ok()?;
        (flags & ACCEPTS != 0).then_some(Listener { port: None, inode })
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51234 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D2A4 01 00000000:00000000 00:00000000 00000000  1000        0 51240 1 0000000000000000 20 4 30 10 -1
";
    const TCP6: &str = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0000000000000000 100 0 0 10 0
";
    const UNIX: &str = "Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/app.sock
0000000000000000: 00000003 00000000 00000000 0001 03 12346
";

    #[test]
    fn only_what_listens_is_taken() {
        assert_eq!(tcp(TCP), [Listener { port: Some(8080), inode: 51234 }]);
        assert_eq!(tcp(TCP6), [Listener { port: Some(80), inode: 777 }]);
        assert_eq!(unix(UNIX), [Listener { port: None, inode: 12345 }]);
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
        assert_eq!(program_at([127, 0, 0, 1].into(), port).as_deref(), Some(name.trim_end()));
        assert_eq!(program_at([192, 0, 2, 1].into(), port), None);
        drop(listener);
        assert!(!own());
        assert_eq!(owned(&[u32::MAX], &[]), None);
        assert!(listening(u32::MAX).is_none());
        assert_eq!(socket(Path::new("socket:[17]")), Some(17));
        assert_eq!(socket(Path::new("/dev/null")), None);
    }
}
