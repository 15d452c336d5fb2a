use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

struct Stats {
    served: AtomicU64,
    bytes: AtomicU64,
}

static STATS: Stats = Stats { served: AtomicU64::new(0), bytes: AtomicU64::new(0) };

#[inline(never)]
fn render(x: u64) -> u64 {
    let mut h = x ^ (x >> 33);
    h = h.wrapping_mul(0xff51afd7ed558ccd);
    h ^= h >> 33;
    200 + (h & 4095)
}

#[inline(never)]
fn account(bytes: u64) {
    STATS.served.fetch_add(1, Ordering::Relaxed);
    STATS.bytes.fetch_add(bytes, Ordering::Relaxed);
}

fn serve(first: u64, last: u64) -> u64 {
    let mut largest = 0;
    for i in first..last {
        let n = render(i.wrapping_mul(0x9e3779b97f4a7c15));
        account(n);
        if n > largest {
            largest = n;
        }
    }
    largest
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1).max(1);
    let total: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(50_000_000);
    let mut pool = Vec::new();
    for t in 0..threads {
        pool.push(thread::spawn(move || serve(total * t / threads, total * (t + 1) / threads)));
    }
    let mut largest = 0;
    for h in pool {
        largest = largest.max(h.join().unwrap());
    }
    println!(
        "served {} bytes {} largest {}",
        STATS.served.load(Ordering::Relaxed),
        STATS.bytes.load(Ordering::Relaxed),
        largest
    );
}
