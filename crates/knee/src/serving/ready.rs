//! `--ready`: `port:8080`, `http://localhost:8080/health`, or a regular expression of a line that the server prints.

use collect::load::{Ready, is_line};
use regex::bytes::Regex;

/// The default port of http://.
const HTTP_PORT: u16 = 80;

/// Reads the option's value.
///
/// # Errors
/// As a text, when it is none of the three forms.
pub(crate) fn ready(text: &str) -> Result<Ready, String> {
    let port = |text: &str| match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("`{text}` is not a port; write port:8080")),
    };
    if let Some(number) = text.strip_prefix("port:") {
        return port(number).map(Ready::Port);
    }
    if text.starts_with("https://") {
        return Err("knee asks only by http://; write port:8443 for a server that encrypts".to_owned());
    }
    if let Some(rest) = text.strip_prefix("http://") {
        let (place, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        // An IPv6 address is in brackets: http://[::1]:8080/.
        let (host, number) = match place.rsplit_once(':').filter(|(_, number)| !number.contains(']')) {
            Some((host, number)) => (host, port(number)?),
            None => (place, HTTP_PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || path.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(format!("`{text}` is not an address; write http://localhost:8080/health"));
        }
        return Ok(Ready::Http { host: host.to_owned(), port: number, path: path.to_owned() });
    }
    if text.is_empty() || text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("write port:{} for a port", if text.is_empty() { "8080" } else { text }));
    }
    let regex = Regex::new(text).map_err(|error| error.to_string())?;
    Ok(Ready::Line { pattern: text.to_owned(), fits: is_line(move |line| regex.is_match(line)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read_and_written() {
        for (text, meaning) in [
            ("port:8080", "it listens at port 8080"),
            ("http://localhost:8080/health?x=1", "http://localhost:8080/health?x=1 answers"),
            ("http://example", "http://example:80/ answers"),
            ("http://[::1]:81/", "http://::1:81/ answers"),
            ("listening on .*", "it prints a line like listening on .*"),
        ] {
            let read = ready(text).unwrap();
            assert_eq!(read.to_string(), meaning);
            assert_eq!(ready(&read.option().unwrap()).unwrap().to_string(), meaning);
        }
        for text in
            ["", "8080", "port:", "port:0", "port:99999", "https://x/", "http://", "http://:80/", "http://x/a b", "(a"]
        {
            assert!(ready(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_line_fits_the_expression() {
        let Ready::Line { fits, .. } = ready("^up$").unwrap() else { panic!("a line") };
        assert!(fits(b"up") && !fits(b"up and down"));
    }
}
