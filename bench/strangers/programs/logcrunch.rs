// logcrunch - usage profiles from the access log of a shop.
//
// Parser threads turn log lines into events, batch by batch; the profiler
// keeps a profile for every user and a counter for every page.
//
// usage: logcrunch THREADS

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread;

const BASE_LINES: usize = 12_000;
const BATCH_LINES: usize = 400;
const BATCHES: usize = 5_000;
const USERS: u32 = 5_000;
const SLOWEST: usize = 16;

struct Event {
    user: String,
    page: u8,
    status: u16,
    millis: u32,
}

struct Profile {
    requests: u64,
    errors: u64,
    millis: u64,
    slowest: Vec<u32>,
}

impl Profile {
    fn new() -> Profile {
        Profile {
            requests: 0,
            errors: 0,
            millis: 0,
            slowest: Vec::with_capacity(SLOWEST),
        }
    }

    fn add(&mut self, event: &Event) {
        self.requests += 1;
        self.millis += u64::from(event.millis);
        if event.status >= 500 {
            self.errors += 1;
        }
        if self.slowest.len() == SLOWEST {
            if event.millis <= self.slowest[0] {
                return;
            }
            self.slowest.remove(0);
        }
        let at = self.slowest.partition_point(|&m| m < event.millis);
        self.slowest.insert(at, event.millis);
    }
}

struct Profiler {
    users: BTreeMap<String, Profile>,
    pages: HashMap<String, u64>,
}

impl Profiler {
    fn new() -> Profiler {
        Profiler {
            users: BTreeMap::new(),
            pages: HashMap::new(),
        }
    }

    fn take(&mut self, event: Event) {
        *self.pages.entry(page_name(event.page)).or_insert(0) += 1;
        match self.users.get_mut(&event.user) {
            Some(profile) => profile.add(&event),
            None => {
                let mut profile = Profile::new();
                profile.add(&event);
                self.users.insert(event.user, profile);
            }
        }
    }

    fn run(mut self, events: Receiver<Vec<Event>>) -> Profiler {
        for batch in events {
            for event in batch {
                self.take(event);
            }
        }
        self
    }
}

fn page_name(page: u8) -> String {
    format!("/catalogue/section-{}", page)
}

fn next_rand(seed: &mut u32) -> u32 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    *seed
}

fn make_log() -> Vec<String> {
    let mut seed = 0x1357_9bdfu32;
    (0..BASE_LINES)
        .map(|_| {
            let user = next_rand(&mut seed) % USERS;
            let page = next_rand(&mut seed) % 40;
            let status = if next_rand(&mut seed) % 50 == 0 { 503 } else { 200 };
            let millis = next_rand(&mut seed) % 900;
            format!("user{:06} {} {} {}", user, page, status, millis)
        })
        .collect()
}

fn parse_line(line: &str, extra: u32) -> Option<Event> {
    let mut fields = line.split(' ');
    Some(Event {
        user: fields.next()?.to_string(),
        page: fields.next()?.parse().ok()?,
        status: fields.next()?.parse().ok()?,
        millis: fields.next()?.parse::<u32>().ok()? + extra,
    })
}

fn parser_thread(
    log: Arc<Vec<String>>,
    next_batch: Arc<AtomicUsize>,
    out: SyncSender<Vec<Event>>,
) -> usize {
    let mut rejected = 0;
    loop {
        let batch = next_batch.fetch_add(1, Ordering::Relaxed);
        if batch >= BATCHES {
            return rejected;
        }
        let mut events = Vec::with_capacity(BATCH_LINES);
        for i in 0..BATCH_LINES {
            let line = &log[(batch * BATCH_LINES + i) % log.len()];
            match parse_line(line, (batch % 97) as u32) {
                Some(event) => events.push(event),
                None => rejected += 1,
            }
        }
        if out.send(events).is_err() {
            return rejected;
        }
    }
}

fn main() {
    let threads: usize = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(1);
    let log = Arc::new(make_log());
    let next_batch = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = sync_channel(32);

    let profiler = thread::spawn(move || Profiler::new().run(rx));
    let parsers: Vec<_> = (0..threads)
        .map(|_| {
            let log = Arc::clone(&log);
            let next_batch = Arc::clone(&next_batch);
            let tx = tx.clone();
            thread::spawn(move || parser_thread(log, next_batch, tx))
        })
        .collect();
    drop(tx);

    let mut rejected = 0;
    for p in parsers {
        rejected += p.join().expect("parser failed");
    }
    let profiler = profiler.join().expect("profiler failed");

    let requests: u64 = profiler.users.values().map(|p| p.requests).sum();
    let errors: u64 = profiler.users.values().map(|p| p.errors).sum();
    let millis: u64 = profiler.users.values().map(|p| p.millis).sum();
    let slow: u64 = profiler
        .users
        .values()
        .map(|p| p.slowest.iter().map(|&m| u64::from(m)).sum::<u64>())
        .sum();
    let top = profiler.pages.values().max().copied().unwrap_or(0);
    println!(
        "users {} requests {} errors {} rejected {} millis {} slow {} top-page {}",
        profiler.users.len(),
        requests,
        errors,
        rejected,
        millis,
        slow,
        top
    );
}
