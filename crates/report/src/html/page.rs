//! What a page is about, and its frame: everything around the sections.

use super::markup::Markup;
use super::sources::Sources;
use analyze::Analysis;
use analyze::answer::Answer;
use analyze::causes::{Meta, with_none};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../../assets/page.css");

/// What the page is about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a, 't> {
    /// The recording and what was found in it.
    pub analysis: &'a Analysis<'a, 't>,
    /// The folder of the recording, as the reader can type it.
    pub folder: &'a str,
    /// Source lines around the culprits.
    pub sources: &'a Sources,
}

/// Where a page is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::html) enum Medium {
    File,
    Served,
}

/// The page's style, with a class for the colour of each cause.
fn style() -> String {
    let colour = |meta: &Meta| format!(".c-{} {{ fill: {1}; background: {1}; }}\n", meta.id, meta.colour);
    STYLE.to_owned() + &with_none().map(colour).collect::<String>()
}

/// Everything before the body's first element.
pub(in crate::html) fn head(title: &str, script: Option<&str>, medium: Medium, m: &mut Markup) {
    m.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    m.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    m.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    let style = style();
    // Data blocks are not scripts for the policy; apart from our script, nothing may run or be fetched.
    let script = script.map_or("'none'".to_owned(), |script| format!("'{}'", hash(script)));
    m.raw(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {script}; \
         style-src '{}'; {}base-uri 'none'; form-action 'none'\">\n",
        hash(&style),
        if medium == Medium::Served { "connect-src 'self'; " } else { "" }
    ));
    m.raw("<title>").text(title).raw(" – knee</title>\n");
    m.raw("<style>").raw(&style).raw("</style></head>\n<body>\n");
}

pub(in crate::html) fn main(sections: &[Section], m: &mut Markup) {
    m.raw("<main>\n");
    for section in sections {
        m.raw(&format!("<section id=\"{}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">", section.id));
        m.text(section.title).raw("</h2>\n").raw(&section.body).raw("</section>\n");
    }
    m.raw("</main>\n");
}

/// A part of the page.
pub(in crate::html) struct Section {
    pub(in crate::html) id: &'static str,
    pub(in crate::html) title: &'static str,
    pub(in crate::html) body: String,
}

pub(in crate::html) fn header(title: &str, sections: &[Section], m: &mut Markup) {
    m.raw("<header><p class=\"command\"><code>").text(title).raw("</code></p>\n");
    // Beside the header, not in it: what sticks does so within its parent.
    m.raw("</header>\n<nav aria-label=\"Sections\"><ul>");
    for section in sections {
        m.raw(&format!("<li><a href=\"#{}\">", section.id)).text(section.title).raw("</a></li>");
    }
    m.raw("</ul></nav>\n");
}

/// A source expression of a content security policy (CSP level 3, 2.3.1).
fn hash(inline: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(inline.as_bytes())))
}

/// The thread count whose tables are shown: the one that the verdict is about, else the largest traced.
pub(in crate::html) fn focus(answer: &Answer) -> Option<u32> {
    let traced: Vec<u32> = answer.account.iter().map(|a| a.threads).collect();
    let spoken_of = answer.verdict.causes.iter().map(|c| c.threads).find(|t| traced.contains(t));
    spoken_of.filter(|t| Some(t) != traced.first()).or(traced.last().copied())
}
