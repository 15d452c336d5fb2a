// A program that shares no code with the lab: threads take turns with one `std::sync::Mutex`.
use std::sync::Mutex;

static TABLE: Mutex<[u64; 64]> = Mutex::new([0; 64]);

#[inline(never)]
fn record_visit(visitor: u64, round: u64) {
    let mut table = TABLE.lock().unwrap(); // GUILTY: every visit takes the one lock
    // The critical section is long enough that threads queue for it.
    let mut key = visitor ^ round;
    for _ in 0..400 {
        key = key.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        table[(key >> 58) as usize] += 1;
    }
}

fn main() {
    let threads: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("usage: rust_mutex THREADS");
    const VISITS: u64 = 800_000;
    std::thread::scope(|scope| {
        for visitor in 0..threads {
            scope.spawn(move || {
                for round in 0..VISITS / threads {
                    record_visit(visitor, round);
                }
            });
        }
    });
    let sum: u64 = TABLE.lock().unwrap().iter().sum();
    assert_eq!(sum, VISITS / threads * threads * 400);
}
