//! `docs/recording.md` says what the tables contain. It is generated from the row types:
//! `KNEE_WRITE_DOCS=1 cargo test -p recording --test documentation`.

use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# The recording

A recording is a folder: `meta.json` (what was run, where, and what could not be seen) and one folder of Parquet files a
table. Any data tool opens them, for example DuckDB:

```
duckdb -c \"select reason, sum(blocked_ns) / 1e9 as seconds from 'recording/waits/*.parquet' group by reason\"
```

Times are nanoseconds of CLOCK_MONOTONIC unless a column says otherwise; columns that end in `_ns` are nanoseconds. A
value that could not be known is null, never zero. Numbers that tie tables together (`thread`, `wait`, `stack`, ...) are
handles: `run` is unique in the recording, as are `stack`, `frame` and `module`; `thread`, `wait` and `site` are unique in
their run. A new column or table is a minor version of the format; readers skip what they do not know.

The counts of a sweep are thread counts, unless `counted` in `meta.json` is `processors` (since format 1.7): then they are numbers of
processors that the program could run on, and the threads are its own choice. `processor_order` has the processors' numbers; a run
with a count of n ran on the first n.

Where `meta.json` has a `load` (since format 1.8), the program is a server: it ran beside a command that asks it for work, and a run is
from the load's start to its end. What the server did before and after is in the tables of an observed run, and counts for nothing.

This page is written from the source, `crates/recording/src/tables.rs`.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (table, columns) in recording::reader::TABLES {
        write!(page, "\n## {table}\n\n| column | type | what |\n|---|---|---|\n").expect("a String takes all text");
        for column in *columns {
            let kind = column.kind.replace(' ', "").replace("Vec<u8>", "bytes");
            let (kind, optional) = kind
                .strip_prefix("Option<")
                .map_or((kind.as_str(), ""), |inner| (inner.trim_end_matches('>'), " or null"));
            let what = column.doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            writeln!(page, "| `{}` | {kind}{optional} | {what} |", column.name).expect("a String takes all text");
        }
    }
    page
}

#[test]
fn the_page_says_what_the_source_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recording.md");
    let page = page();
    if std::env::var_os("KNEE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/recording.md is not what the tables say: run with KNEE_WRITE_DOCS=1");
}
