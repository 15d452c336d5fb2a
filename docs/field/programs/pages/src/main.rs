//! Pages that are kept once they are made: a cache behind a mutex, in handlers of axum.
//!
//!     pages held|short|await PORT THREADS
//!
//! `held` keeps the standard library's mutex while a page is made, `short` only while the cache is read. `await` keeps tokio's
//! mutex while it waits for a store that answers after two milliseconds: then tasks wait, and no thread does.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How many pages are kept; then the cache is emptied.
const KEPT: usize = 1000;

#[derive(Default)]
struct Pages {
    asked: AtomicU64,
    cache: Mutex<HashMap<u64, String>>,
    later: tokio::sync::Mutex<HashMap<u64, String>>,
}

/// Makes a page: some hundred microseconds of work.
fn make(number: u64) -> String {
    let mut page = String::new();
    let mut sum = number;
    for line in 0..40 {
        for _ in 0..6_000 {
            sum = sum.wrapping_mul(6364136223846793005).rotate_left(17) ^ line;
        }
        let _ = writeln!(page, "{line} {sum:016x}");
    }
    page
}

fn keep(cache: &mut HashMap<u64, String>, number: u64, page: &str) {
    if cache.len() >= KEPT {
        cache.clear();
    }
    cache.insert(number, page.to_owned());
}

impl Pages {
    /// Nine numbers of ten are new.
    fn number(&self) -> u64 {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        asked - u64::from(asked % 10 == 9)
    }

    fn held(&self, number: u64) -> String {
        let mut cache = self.cache.lock().unwrap();
        if let Some(page) = cache.get(&number) {
            return page.clone();
        }
        let page = make(number);
        keep(&mut cache, number, &page);
        page
    }

    fn short(&self, number: u64) -> String {
        if let Some(page) = self.cache.lock().unwrap().get(&number) {
            return page.clone();
        }
        let page = make(number);
        keep(&mut self.cache.lock().unwrap(), number, &page);
        page
    }

    async fn awaiting(&self, number: u64) -> String {
        let mut cache = self.later.lock().await;
        if let Some(page) = cache.get(&number) {
            return page.clone();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        let page = format!("page {number}\n");
        keep(&mut cache, number, &page);
        page
    }
}

async fn show_held(State(pages): State<Arc<Pages>>) -> String {
    pages.held(pages.number())
}

async fn show_short(State(pages): State<Arc<Pages>>) -> String {
    pages.short(pages.number())
}

async fn show_await(State(pages): State<Arc<Pages>>) -> String {
    pages.awaiting(pages.number()).await
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, port, threads] = arguments.as_slice() else {
        return Err("usage: pages held|short|await PORT THREADS".into());
    };
    let show = match kind.as_str() {
        "held" => get(show_held),
        "short" => get(show_short),
        _ => get(show_await),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads.parse()?).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        axum::serve(listener, Router::new().route("/", show).with_state(Arc::new(Pages::default()))).await
    })?;
    Ok(())
}
