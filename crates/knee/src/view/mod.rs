//! The server of `knee view`: one page and the data that it requests, on the loopback interface, protected by a secret in
//! the address. It serves no files: a page has four addresses, and all their answers are made from memory; with several
//! cases, each has its own page, addressed by its number. Rooms: [`access`] which requests are allowed; [`responses`]
//! what they get.
//!
//! May import: `collect`, `report`, getrandom, tiny_http.

mod access;
mod responses;

use access::{AccessCheck, Refused};
pub(crate) use responses::ServedPages;

use anyhow::{Context, anyhow};
use collect::Stop;
use std::fmt::Write as _;
use std::io::{self, Cursor};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;
use tiny_http::{Header, Request, Response};

/// How soon Ctrl-C takes effect.
const TICK: Duration = Duration::from_millis(100);
/// A page sends one request at a time; the second worker is for a page that is opened twice.
const WORKERS: usize = 2;

/// The server of a page.
pub(crate) struct Server {
    http: tiny_http::Server,
    access: AccessCheck,
}

impl Server {
    /// Listens on the loopback interface; port 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken or forbidden.
    pub(crate) fn open(port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let port = listener.local_addr()?.port();
        let http = tiny_http::Server::from_listener(listener, None).map_err(io::Error::other)?;
        Ok(Server { http, access: AccessCheck { port, token: token()? } })
    }

    /// The address to open in a browser.
    pub(crate) fn address(&self) -> String {
        format!("http://{}:{}/{}/", Ipv4Addr::LOCALHOST, self.access.port, self.access.token)
    }

    /// Answers until `stop` is set.
    ///
    /// # Errors
    /// When the socket fails.
    pub(crate) fn run(&self, pages: &ServedPages, stop: &Stop) -> anyhow::Result<()> {
        let work = || -> io::Result<()> {
            while !stop.requested() {
                if let Some(request) = self.http.recv_timeout(TICK)? {
                    let response = self.response(pages, &request);
                    // A client that has gone needs no answer.
                    let _ = request.respond(response);
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(ended) => ended.context("the server's socket failed"),
                Err(_) => Err(anyhow!("a thread of the server ended unexpectedly")),
            })
        })
    }

    fn response(&self, pages: &ServedPages, request: &Request) -> Response<Cursor<Vec<u8>>> {
        let values = |name: &'static str| -> Vec<&str> {
            request.headers().iter().filter(|h| h.field.equiv(name)).map(|h| h.value.as_str()).collect()
        };
        let method = request.method().to_string();
        let answer = match self.access.check(&method, &values("Host"), &values("Origin"), request.url()) {
            Ok(rest) => pages.answer(rest),
            Err(Refused::Method) => responses::Answer::words(405, "this address can only be read"),
            Err(Refused::Host) => responses::Answer::words(403, "this is not the host that knee view serves"),
            Err(Refused::Token) => responses::Answer::words(403, "the address needs the secret that knee view printed"),
        };
        let mut response = Response::from_data(answer.body).with_status_code(answer.status);
        // The length is known, so no chunked encoding is needed.
        response = response.with_chunked_threshold(usize::MAX);
        for (name, value) in [
            ("Content-Type", answer.kind),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            // No other site may show the page in a frame, or read it (CSP level 3; Fetch standard, 3.7).
            ("Content-Security-Policy", "frame-ancestors 'none'"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ] {
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        response
    }
}

/// 128 bits from the system's generator: only somebody who may read knee's output can know it.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert!(a != b && a.len() == 32 && a.bytes().all(|c| c.is_ascii_hexdigit()), "{a} {b}");
    }

    #[test]
    fn only_the_loopback_interface_listens() {
        let server = Server::open(0).unwrap();
        let address = server.http.server_addr().to_ip().unwrap();
        assert_eq!(address.ip(), Ipv4Addr::LOCALHOST);
        assert!(server.address().starts_with(&format!("http://127.0.0.1:{}/", address.port())));
        assert_eq!(Server::open(address.port()).map(drop).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
