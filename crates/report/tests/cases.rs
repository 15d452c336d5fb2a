//! The page of a comparison: pictures, links, and no markup from the target. What it looks like is tested in a browser
//! (`tests/browser`).

#[path = "common/hostile.rs"]
#[expect(dead_code, reason = "recordings that other tests use")]
mod hostile;

#[path = "common/cases.rs"]
mod cases;

use report::comparison::Comparison;
use report::html::cases::{Cases, Pages, render};

fn page(comparison: &Comparison, base: &str) -> String {
    let mut out = Vec::new();
    render(&Cases { comparison, folder: "/tmp/<i>'\"", pages: Pages::Files(base), found: "" }, &mut out)
        .expect("a Vec takes everything");
    String::from_utf8(out).expect("the page is UTF-8")
}

#[test]
fn variants_are_overlaid() {
    let page = page(&cases::variants(), "");
    let curves = page.matches("<polyline class=\"line ").count();
    assert_eq!(curves, 10, "five of speed and five of speed-up");
    assert_eq!(page.matches("class=\"ideal\"").count(), 1);
    for link in ["./list-0/report.html", "./list-pmla-4/report.html"] {
        assert!(page.contains(&format!("<a href=\"{link}\">")), "{link}");
    }
    assert!(!page.contains("id=\"map\""), "nothing varies but the variant");
    assert!(page.contains("Not as the sweep file expects"), "list-pm does not wait for a lock");
}

#[test]
fn a_parameter_has_families_of_curves_and_a_map() {
    let page = page(&cases::families(), "/tmp/a b");
    assert_eq!(page.matches("<polyline class=\"line ").count(), 8, "two variants, four thread counts");
    assert_eq!(page.matches("class=\"heat ").count(), 2 * 5 * 4);
    assert!(page.contains("h-8") && page.contains("h-0"), "both ends of the colours");
    assert!(page.contains("<a href=\"/tmp/a%20b/per-thread-0/report.html\">"));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn nothing_of_the_target_becomes_markup() {
    let page = page(&cases::hostile(), "");
    let mut rest = page.as_str();
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("the style ends") + 1..];
            continue;
        }
        let tag = &rest[..rest.find('>').expect("every tag ends")];
        for never in ["script", "img", "b", "i", "iframe", "object", "embed", "form", "base", "link"] {
            assert_ne!(name, never, "<{tag}>");
        }
        let attributes: String = tag.split('"').step_by(2).collect();
        assert!(!attributes.contains(" on") && !attributes.contains('\''), "<{tag}>");
        if let Some(link) = tag.strip_prefix("a ").and_then(|t| t.split("href=\"").nth(1)) {
            assert!(link.starts_with("./") || link.starts_with('#'), "{link}");
            let path = link.trim_start_matches("./").trim_end_matches("/report.html\"");
            assert!(link.starts_with('#') || !path.contains(['/', ':', '?', '#', '\\', '&']), "{link}");
        }
    }
    for c in ['\u{202e}', '\u{2066}', '\u{1b}', '\u{0}', '\u{2028}', '\u{7}'] {
        assert!(!page.contains(c), "{:x}", c as u32);
    }
    assert!(page.contains("script-src 'none'") && !page.contains(" style=") && !page.contains("NaN"));
    assert!(page.len() < 3_000_000, "{}", page.len());
}
