//! Which requests are allowed. Pure: compares a request with the server's address.
//!
//! Other users of the machine and other sites in the same browser can both reach a port of the loopback interface. The
//! token keeps out everybody who has not seen the address. The host name stops sites that let their own name resolve to
//! 127.0.0.1 (DNS rebinding), and the origin stops requests from other sites.

/// What an allowed request must have.
#[derive(Debug)]
pub(super) struct AccessCheck {
    pub(super) port: u16,
    pub(super) token: String,
}

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Method,
    Host,
    Token,
}

impl AccessCheck {
    /// The part of the address after the token, if the request is allowed.
    pub(super) fn check<'r>(
        &self,
        method: &str,
        hosts: &[&str],
        origins: &[&str],
        target: &'r str,
    ) -> Result<&'r str, Refused> {
        match hosts {
            [host] if self.is_here(host) => {}
            _ => return Err(Refused::Host),
        }
        if !origins.iter().all(|origin| origin.strip_prefix("http://").is_some_and(|host| self.is_here(host))) {
            return Err(Refused::Host);
        }
        let (token, rest) = target.strip_prefix('/').and_then(|t| t.split_once('/')).ok_or(Refused::Token)?;
        if !same(token, &self.token) {
            return Err(Refused::Token);
        }
        if matches!(method, "GET" | "HEAD") { Ok(rest) } else { Err(Refused::Method) }
    }

    fn is_here(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            // The port of http (RFC 9110, 4.2.1).
            None => (host, Some(80)),
        };
        port == Some(self.port) && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
    }
}

/// Compares in constant time, so that the time does not reveal where they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, hosts: &[&str], origins: &[&str], target: &'static str) -> Result<&'static str, Refused> {
        AccessCheck { port: 4711, token: "00ff".into() }.check(method, hosts, origins, target)
    }

    #[test]
    fn the_printed_address_is_let_in() {
        for host in ["127.0.0.1:4711", "localhost:4711", "LOCALHOST:4711"] {
            assert_eq!(check("GET", &[host], &[], "/00ff/"), Ok(""));
        }
        let same = "http://127.0.0.1:4711";
        assert_eq!(check("HEAD", &["127.0.0.1:4711"], &[same], "/00ff/lanes?run=0"), Ok("lanes?run=0"));
        let web = AccessCheck { port: 80, token: "00ff".into() };
        assert_eq!(web.check("GET", &["127.0.0.1"], &[], "/00ff/"), Ok(""));
    }

    #[test]
    fn other_names_and_origins_are_refused() {
        for hosts in [
            &[][..],
            &["evil.example:4711"],
            &["127.0.0.1"],
            &["127.0.0.1:80"],
            &["127.0.0.1:4711.evil.example"],
            &["evil.example@127.0.0.1:4711"],
            &["127.0.0.1:4711", "evil.example"],
            &["127.0.0.2:4711"],
            &[""],
        ] {
            assert_eq!(check("GET", hosts, &[], "/00ff/"), Err(Refused::Host), "{hosts:?}");
        }
        for origin in ["http://evil.example", "null", "https://127.0.0.1:4711", "http://127.0.0.1:4712", ""] {
            assert_eq!(check("GET", &["127.0.0.1:4711"], &[origin], "/00ff/"), Err(Refused::Host), "{origin}");
        }
    }

    #[test]
    fn requests_without_the_token_are_refused() {
        for target in [
            "/",
            "",
            "*",
            "/00fe/",
            "/00f/",
            "/00ff0/",
            "/00ff",
            "//00ff/",
            "/x/../00ff/",
            "http://127.0.0.1:4711/00ff/",
        ] {
            assert_eq!(check("GET", &["127.0.0.1:4711"], &[], target), Err(Refused::Token), "{target}");
        }
    }

    #[test]
    fn only_reading_methods_are_allowed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
            assert_eq!(check(method, &["127.0.0.1:4711"], &[], "/00ff/"), Err(Refused::Method), "{method}");
        }
    }
}
