use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

const CHUNK: u64 = 20_000;

#[inline(never)]
fn longest_in(first: u64, last: u64) -> (u32, u64) {
    let mut best = (0u32, first);
    for start in first..last {
        let mut n = start;
        let mut len = 0u32;
        while n != 1 {
            n = if n & 1 == 0 { n >> 1 } else { 3 * n + 1 };
            len += 1;
        }
        if len > best.0 {
            best = (len, start);
        }
    }
    best
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1).max(1);
    let limit: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(3_000_000);
    let next = Arc::new(AtomicU64::new(1));
    let mut pool = Vec::new();
    for _ in 0..threads {
        let next = Arc::clone(&next);
        pool.push(thread::spawn(move || {
            let mut best = (0u32, 0u64);
            loop {
                let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                if first >= limit {
                    return best;
                }
                let found = longest_in(first, (first + CHUNK).min(limit));
                if found.0 > best.0 {
                    best = found;
                }
            }
        }));
    }
    let mut best = (0u32, 0u64);
    for h in pool {
        let found = h.join().unwrap();
        if found.0 > best.0 {
            best = found;
        }
    }
    println!("longest {} from {}", best.0, best.1);
}
