use std::collections::HashMap;
use std::sync::RwLock;
use std::thread;

#[derive(Clone, Copy)]
struct Flag {
    percent: u32,
    salt: u32,
}

struct Flags {
    table: RwLock<HashMap<u32, Flag>>,
}

impl Flags {
    fn new() -> Flags {
        let mut table = HashMap::new();
        for id in 0..256u32 {
            table.insert(id, Flag { percent: id % 101, salt: id.wrapping_mul(2654435761) });
        }
        Flags { table: RwLock::new(table) }
    }

    #[inline(never)]
    fn enabled(&self, id: u32, user: u32) -> bool {
        let table = self.table.read().unwrap();
        match table.get(&id) {
            Some(f) => (user ^ f.salt) % 100 < f.percent,
            None => false,
        }
    }

    #[inline(never)]
    fn set_percent(&self, id: u32, percent: u32) {
        let mut table = self.table.write().unwrap();
        if let Some(f) = table.get_mut(&id) {
            f.percent = percent;
        }
    }
}

fn evaluate(flags: &Flags, first: u64, last: u64, seed: u64) -> u64 {
    let mut x = seed;
    let mut on = 0u64;
    for i in first..last {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let user = (x >> 32) as u32;
        if flags.enabled((x >> 24) as u32 & 255, user) {
            on += 1;
        }
        if i % 500_000 == 0 {
            flags.set_percent(user & 255, (i / 500_000 % 100) as u32);
        }
    }
    on
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1).max(1);
    let total: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(16_000_000);
    let flags = Flags::new();
    let mut on = 0u64;
    thread::scope(|s| {
        let flags = &flags;
        let mut pool = Vec::new();
        for t in 0..threads {
            pool.push(s.spawn(move || {
                evaluate(flags, total * t / threads, total * (t + 1) / threads, 1234567 + t * 31)
            }));
        }
        for h in pool {
            on += h.join().unwrap();
        }
    });
    println!("evaluations {} on {}", total, on);
}
