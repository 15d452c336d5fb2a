//! When a server is ready for its load.

use crate::launch::family::Member;
use crate::launch::{OutputSink, Stream};
use crate::sockets::{listeners, owned};
use std::fmt;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long one attempt to ask a server may take.
const ATTEMPT: Duration = Duration::from_millis(500);
/// Only this much of a longer line is looked at, bytes.
const LONGEST_LINE: usize = 4096;

/// Judges a line of output.
pub type LineTest = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// What is waited for.
#[derive(Clone)]
pub enum Ready {
    /// It listens at a socket: TCP, or one in the file system.
    Listens,
    /// It listens at this TCP port.
    Port(u16),
    /// A GET request is answered with a status from 200 to 399.
    Http {
        /// Name or address of the host.
        host: String,
        /// Port.
        port: u16,
        /// Path, with its first slash.
        path: String,
    },
    /// It prints a matching line.
    Line {
        /// How the user wrote the pattern.
        pattern: String,
        /// Whether a line matches.
        fits: LineTest,
    },
}

/// A test of lines.
pub fn is_line(test: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> LineTest {
    Arc::new(test)
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ready::Listens => f.write_str("it listens"),
            Ready::Port(port) => write!(f, "it listens at port {port}"),
            Ready::Http { host, port, path } => write!(f, "http://{host}:{port}{path} answers"),
            Ready::Line { pattern, .. } => write!(f, "it prints a line like {pattern}"),
        }
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Ready {
    /// As written after `--ready`; none for the default.
    pub fn option(&self) -> Option<String> {
        match self {
            Ready::Listens => None,
            Ready::Port(port) => Some(format!("port:{port}")),
            Ready::Http { host, port, path } if host.contains(':') => Some(format!("http://[{host}]:{port}{path}")),
            Ready::Http { host, port, path } => Some(format!("http://{host}:{port}{path}")),
            Ready::Line { pattern, .. } => Some(pattern.clone()),
        }
    }

    /// Whether the server with these processes is ready. `printed`: whether a line has matched.
    pub(super) fn now(&self, members: &[Member], printed: bool) -> bool {
        match self {
            Ready::Line { .. } => printed,
            Ready::Listens => listens(members, |_| true).unwrap_or(false),
            // The port was free before, so whoever listens there now is the server.
            Ready::Port(wanted) => {
                listens(members, |port| port == Some(*wanted)).unwrap_or_else(|| self.taken().is_some())
            }
            Ready::Http { host, port, path } => answers(host, *port, path),
        }
    }

    /// The port, if something else listens there already: nobody could tell who answers.
    pub(super) fn taken(&self) -> Option<u16> {
        let wanted = match self {
            Ready::Port(port) => *port,
            Ready::Http { host, port, .. } if is_here(host) => *port,
            _ => return None,
        };
        listeners("self").iter().any(|listener| listener.port == Some(wanted)).then_some(wanted)
    }
}

/// Absent where the server changed to another user, which hides its descriptors.
fn listens(members: &[Member], fits: impl Fn(Option<u16>) -> bool) -> Option<bool> {
    let first = members.first()?;
    let mut all = listeners(&first.pid.to_string());
    all.retain(|listener| fits(listener.port));
    let pids: Vec<u32> = members.iter().map(|member| member.pid).collect();
    owned(&pids, &all).map(|own| !own.is_empty())
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn answers(host: &str, port: u16, path: &str) -> bool {
    let Ok(addresses) = (host, port).to_socket_addrs() else { return false };
    addresses.into_iter().any(|address| status(address, host, path).is_some_and(|status| (200..400).contains(&status)))
}

/// The status of the answer.
fn status(address: SocketAddr, host: &str, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect_timeout(&address, ATTEMPT).ok()?;
    stream.set_read_timeout(Some(ATTEMPT)).ok()?;
    stream.set_write_timeout(Some(ATTEMPT)).ok()?;
    let port = address.port();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n");
    let asked = head + "User-Agent: knee\r\nConnection: close\r\n\r\n";
    stream.write_all(asked.as_bytes()).ok()?;
    let mut line = [0; 32];
    let mut filled = 0;
    while let Some(room) = line.get_mut(filled..).filter(|room| !room.is_empty()) {
        match stream.read(room) {
            Ok(read) if read > 0 => filled += read,
            _ => break,
        }
    }
    parse_status(line.get(..filled)?)
}

/// Parses a line like `HTTP/1.1 200 OK`.
fn parse_status(line: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.strip_prefix("HTTP/")?.split_whitespace();
    words.nth(1)?.parse().ok()
}

/// Passes a server's output on, and checks whether a line of it matches.
pub(super) struct Watching<'s> {
    to: &'s mut dyn OutputSink,
    fits: Option<LineTest>,
    lines: [Vec<u8>; 2],
    found: &'s AtomicBool,
}

impl<'s> Watching<'s> {
    pub(super) fn new(to: &'s mut dyn OutputSink, ready: &Ready, found: &'s AtomicBool) -> Watching<'s> {
        let fits = match ready {
            Ready::Line { fits, .. } => Some(LineTest::clone(fits)),
            _ => None,
        };
        Watching { to, fits, lines: Default::default(), found }
    }
}

impl OutputSink for Watching<'_> {
    fn bytes(&mut self, stream: Stream, bytes: &[u8]) {
        self.to.bytes(stream, bytes);
        let Some(fits) = self.fits.as_ref().filter(|_| !self.found.load(Ordering::SeqCst)) else { return };
        let line = &mut self.lines[usize::from(stream == Stream::Err)];
        for byte in bytes {
            match byte {
                b'\n' => {
                    if fits(line) {
                        self.found.store(true, Ordering::SeqCst);
                    }
                    line.clear();
                }
                _ if line.len() < LONGEST_LINE => line.push(*byte),
                _ => {}
            }
        }
        // A prompt has no end of line.
        if fits(line) {
            self.found.store(true, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    struct Nowhere;

    impl OutputSink for Nowhere {
        fn bytes(&mut self, _: Stream, _: &[u8]) {}
    }

    #[test]
    fn a_line_is_found_however_it_comes() {
        for pieces in [&["starting\nlistening on 80\n"][..], &["start", "ing\nlisten", "ing on 80"], &["listening"]] {
            let found = AtomicBool::new(false);
            let ready = Ready::Line {
                pattern: "listening".to_owned(),
                fits: is_line(|line| line.windows(9).any(|w| w == b"listening")),
            };
            let (mut nowhere, mut other) = (Nowhere, Nowhere);
            let mut watching = Watching::new(&mut nowhere, &ready, &found);
            pieces.iter().for_each(|piece| watching.bytes(Stream::Err, piece.as_bytes()));
            assert!(found.load(Ordering::SeqCst) && ready.now(&[], true), "{pieces:?}");
            let never = AtomicBool::new(false);
            Watching::new(&mut other, &Ready::Listens, &never).bytes(Stream::Out, b"listening\n");
            assert!(!never.load(Ordering::SeqCst));
        }
    }

    #[test]
    fn answers_below_400_are_ready() {
        assert_eq!(parse_status(b"HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(parse_status(b"HTTP/1.0 503"), Some(503));
        assert_eq!(parse_status(b"SSH-2.0-x"), None);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            for answer in ["HTTP/1.1 503 Wait\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n"] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 512];
                let read = stream.read(&mut asked).unwrap();
                assert!(asked[..read].starts_with(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1"));
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let ready = Ready::Http { host: "127.0.0.1".to_owned(), port, path: "/health".to_owned() };
        assert_eq!(ready.taken(), Some(port));
        assert_eq!([ready.now(&[], false), ready.now(&[], false)], [false, true]);
        server.join().unwrap();
        assert!(!ready.now(&[], false), "nobody answers");
    }
}
