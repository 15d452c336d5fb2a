//! The short recording of a terminal in the README, `docs/images/terminal.svg`: made of what knee prints today about a kept
//! recording, so that it cannot show anything else. `KNEE_WRITE_DOCS=1 cargo test -p knee --test picture` writes it.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What is typed, and the recording whose answer follows.
const TYPED: &str = "sudo knee sweep -t 1,2,4 -- ./lab/build/wavefront --threads={threads} --wait=spin";
const RECORDING: &str = "fixtures/wavefront";
/// The line before which the recording ends: the rest would need a second screen.
const UNTIL: &str = "Unsure";

/// Columns of the terminal, and the size of a character in pixels (of a monospaced font, six tenths of its height).
const COLUMNS: usize = 88;
const CHARACTER: (f64, f64) = (8.4, 18.0);
/// Seconds from one typed character, and from one printed line, to the next; between both the sweep runs.
const TYPING: f64 = 0.03;
const PRINTING: f64 = 0.06;
const RUNNING: f64 = 0.8;

const STYLE: &str = "\
text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6dbe3;white-space:pre}
.strong{font-weight:700;fill:#fff}.faint{fill:#8b95a5}.alert{font-weight:700;fill:#ff7b72}.warning{fill:#e3b341}
.l{animation:show .01s both}@keyframes show{from{opacity:0}}
@media (prefers-reduced-motion:reduce){.l{animation:none}}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A line of the terminal as spans: its escape sequences become classes.
fn spans(line: &str) -> String {
    let mut made = String::new();
    for (at, part) in line.split("\u{1b}[").enumerate() {
        let (code, text) = if at == 0 { ("", part) } else { part.split_once('m').unwrap() };
        let class = match code {
            "" | "0" => "",
            "1" => "strong",
            "2" => "faint",
            "33" => "warning",
            "31" => "alert",
            other => panic!("no class for the escape sequence {other:?} in {line:?}"),
        };
        match (text.is_empty(), class.is_empty()) {
            (true, _) => {}
            (false, true) => made += &escaped(text),
            (false, false) => write!(made, "<tspan class=\"{class}\">{}</tspan>", escaped(text)).unwrap(),
        }
    }
    made
}

/// What the terminal shows: each line, when it appears.
fn recording(root: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["report", RECORDING])
        .current_dir(root)
        .envs([("CLICOLOR_FORCE", "1"), ("LC_ALL", "C.UTF-8"), ("COLUMNS", "80")])
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let bare = |line: &str| line.split('\u{1b}').map(|p| p.split_once('m').map_or(p, |p| p.1)).collect::<String>();
    let lines: Vec<&str> = printed.lines().take_while(|line| !bare(line).starts_with(UNTIL)).collect();
    assert!(lines.len() > 20 && lines.len() < printed.lines().count(), "{printed}");
    let (across, down) = CHARACTER;
    let (width, height) = (COLUMNS as f64 * across + 24.0, (lines.len() + 1) as f64 * down + 28.0);
    let mut made = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <title>A terminal: knee sweeps a program over 1, 2 and 4 threads and says why it collapses</title>\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n"
    );
    let mut row = |index: usize, at: f64, text: &str| {
        let y = 24.0 + index as f64 * down;
        writeln!(made, "<text class=\"l\" style=\"animation-delay:{at:.2}s\" x=\"12\" y=\"{y}\">{text}</text>")
            .unwrap();
    };
    let mut typed = String::from("$ ");
    for (at, character) in TYPED.chars().enumerate() {
        let delay = format!(" class=\"l\" style=\"animation-delay:{:.2}s\"", at as f64 * TYPING);
        write!(typed, "<tspan{delay}>{}</tspan>", escaped(&character.to_string())).unwrap();
    }
    row(0, 0.0, &typed);
    let begins = TYPED.len() as f64 * TYPING + RUNNING;
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        row(index + 1, begins + index as f64 * PRINTING, &spans(line));
    }
    made + "</svg>\n"
}

#[test]
fn the_terminal_in_the_readme_shows_what_knee_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let path = root.join("docs/images/terminal.svg");
    let made = recording(&root);
    if std::env::var_os("KNEE_WRITE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap_or_default(),
        made,
        "{} is out of date: KNEE_WRITE_DOCS=1 cargo test -p knee --test picture",
        path.display()
    );
}
