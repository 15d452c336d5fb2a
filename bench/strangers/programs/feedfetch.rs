// feedfetch - refreshes the news feeds of the subscribers.
//
// The fetchers take the feeds in turn, fetch the document, and extract the
// entries that are new.  The publisher's terms of use are kept by a throttle
// common to all fetchers.
//
// usage: feedfetch THREADS

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const FEEDS: u32 = 400;
const ENTRIES_PER_FEED: u32 = 40;
const MIN_GAP: Duration = Duration::from_micros(2000);

struct Throttle {
    next_slot: Mutex<Instant>,
    gap: Duration,
}

impl Throttle {
    fn new(gap: Duration) -> Throttle {
        Throttle {
            next_slot: Mutex::new(Instant::now()),
            gap,
        }
    }

    /// Returns when the caller may send its request.
    fn wait_turn(&self) {
        let mut next_slot = self.next_slot.lock().unwrap();
        let now = Instant::now();
        let slot = (*next_slot).max(now);
        if slot > now {
            thread::sleep(slot - now);
        }
        *next_slot = slot + self.gap;
    }
}

#[derive(Default, Clone)]
struct Digest {
    feeds: u32,
    entries: u32,
    fresh: u32,
    title_bytes: usize,
    key: u64,
}

impl Digest {
    fn merge(&mut self, other: &Digest) {
        self.feeds += other.feeds;
        self.entries += other.entries;
        self.fresh += other.fresh;
        self.title_bytes += other.title_bytes;
        self.key = self.key.wrapping_add(other.key);
    }
}

fn hash32(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Stands in for the HTTP client: the document of a feed.
fn request_document(feed: u32) -> String {
    const WORDS: [&str; 8] = [
        "harbour", "council", "reopens", "bridge", "after", "winter", "storm", "repairs",
    ];
    let mut doc = String::with_capacity(8192);
    doc.push_str("<feed>");
    for e in 0..ENTRIES_PER_FEED {
        let h = hash32(feed * 1000 + e);
        doc.push_str("<entry><title>");
        for w in 0..(3 + h % 5) {
            if w > 0 {
                doc.push(' ');
            }
            doc.push_str(WORDS[((h >> (w * 3)) & 7) as usize]);
        }
        doc.push_str("</title><age>");
        doc.push_str(&(h % 72).to_string());
        doc.push_str("</age></entry>");
    }
    doc.push_str("</feed>");
    doc
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let start = text.find(open)? + open.len();
    let end = text[start..].find(close)? + start;
    Some(&text[start..end])
}

fn scan_document(doc: &str, digest: &mut Digest) {
    for entry in doc.split("<entry>").skip(1) {
        let title = between(entry, "<title>", "</title>").unwrap_or("");
        let age: u32 = between(entry, "<age>", "</age>")
            .and_then(|a| a.parse().ok())
            .unwrap_or(u32::MAX);
        digest.entries += 1;
        digest.title_bytes += title.len();
        if age < 24 {
            digest.fresh += 1;
        }
        let mut key = u64::from(age);
        for b in title.bytes() {
            key = key.wrapping_mul(31).wrapping_add(u64::from(b));
        }
        digest.key = digest.key.wrapping_add(key);
    }
}

fn fetcher(cursor: Arc<AtomicU32>, throttle: Arc<Throttle>) -> Digest {
    let mut digest = Digest::default();
    loop {
        let feed = cursor.fetch_add(1, Ordering::Relaxed);
        if feed >= FEEDS {
            return digest;
        }
        throttle.wait_turn();
        let doc = request_document(feed);
        scan_document(&doc, &mut digest);
        digest.feeds += 1;
    }
}

fn main() {
    let threads: usize = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(1);
    let cursor = Arc::new(AtomicU32::new(0));
    let throttle = Arc::new(Throttle::new(MIN_GAP));
    let fetchers: Vec<_> = (0..threads)
        .map(|_| {
            let cursor = Arc::clone(&cursor);
            let throttle = Arc::clone(&throttle);
            thread::spawn(move || fetcher(cursor, throttle))
        })
        .collect();

    let mut total = Digest::default();
    for f in fetchers {
        total.merge(&f.join().expect("fetcher failed"));
    }
    println!(
        "feeds {} entries {} fresh {} title-bytes {} key {:016x}",
        total.feeds, total.entries, total.fresh, total.title_bytes, total.key
    );
}
