//! The same as members.c in Rust: references, slices, atomics and tuples.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[repr(C)]
pub struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    both: (u64, AtomicU64),
}

#[repr(C)]
pub struct Slot(AtomicU64);

#[no_mangle]
pub static SLOTS: [Slot; 4] = [const { Slot(AtomicU64::new(0)) }; 4];

#[inline(never)]
#[no_mangle]
pub extern "C" fn work(own: &Counts, next: u64) -> u64 {
    own.hits.fetch_add(next, Relaxed)
}

#[inline(never)]
#[no_mangle]
pub fn sum(all: &[Counts]) -> u64 {
    all.iter().map(|one| one.misses.load(Relaxed)).sum()
}

fn main() {
    let counts = Counts { hits: AtomicU64::new(0), misses: AtomicU64::new(0), both: (1, AtomicU64::new(2)) };
    let hits = work(&counts, std::hint::black_box(&SLOTS)[1].0.load(Relaxed)) + counts.both.1.load(Relaxed) + counts.both.0;
    std::process::exit((hits + sum(&[counts]) == 99) as i32);
}
