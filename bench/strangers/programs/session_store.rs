use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Default)]
struct Session {
    hits: u64,
    last_seen: u64,
    bytes: u64,
}

struct Store {
    sessions: Mutex<HashMap<u64, Session>>,
}

impl Store {
    fn new() -> Store {
        let mut map = HashMap::new();
        for id in 0..4096u64 {
            map.insert(id, Session::default());
        }
        Store { sessions: Mutex::new(map) }
    }

    #[inline(never)]
    fn touch(&self, id: u64, now: u64, bytes: u64) -> u64 {
        let mut sessions = self.sessions.lock().unwrap();
        let s = sessions.entry(id).or_default();
        s.hits += 1;
        s.last_seen = now;
        s.bytes += bytes;
        s.hits
    }
}

fn handle_requests(store: &Store, first: u64, last: u64, seed: u64) -> u64 {
    let mut x = seed;
    let mut busiest = 0u64;
    for now in first..last {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let hits = store.touch((x >> 20) & 4095, now, x & 1023);
        if hits > busiest {
            busiest = hits;
        }
    }
    busiest
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1).max(1);
    let total: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(8_000_000);
    let store = Arc::new(Store::new());
    let mut pool = Vec::new();
    for t in 0..threads {
        let store = Arc::clone(&store);
        pool.push(thread::spawn(move || {
            handle_requests(&store, total * t / threads, total * (t + 1) / threads, 88172645463325252 + t)
        }));
    }
    let mut busiest = 0;
    for h in pool {
        busiest = busiest.max(h.join().unwrap());
    }
    let sessions = store.sessions.lock().unwrap();
    let hits: u64 = sessions.values().map(|s| s.hits).sum();
    let bytes: u64 = sessions.values().map(|s| s.bytes).sum();
    let last: u64 = sessions.values().map(|s| s.last_seen).max().unwrap_or(0);
    println!("hits {} bytes {} busiest {} last {}", hits, bytes, busiest, last);
}
