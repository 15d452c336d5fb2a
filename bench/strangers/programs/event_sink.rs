use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread;

struct Chunk {
    sensor: u32,
    values: Vec<u32>,
}

const CHUNK: usize = 128;

#[inline(never)]
fn sample(seq: u64) -> Chunk {
    let mut x = seq.wrapping_mul(0x9e3779b97f4a7c15) | 1;
    let mut values = Vec::with_capacity(CHUNK);
    for _ in 0..CHUNK {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        values.push((x >> 40) as u32);
    }
    Chunk { sensor: (seq & 63) as u32, values }
}

fn collect(first: u64, last: u64, tx: SyncSender<Chunk>) {
    for seq in first..last {
        tx.send(sample(seq)).unwrap();
    }
}

#[inline(never)]
fn archive(state: &mut [u64; 64], chunk: &Chunk) {
    let slot = &mut state[chunk.sensor as usize];
    let mut h = *slot;
    for v in &chunk.values {
        let mut w = *v;
        for _ in 0..24 {
            h = (h ^ (w as u64 & 255)).wrapping_mul(1099511628211);
            w = w.rotate_right(3);
        }
    }
    *slot = h;
}

fn drain(rx: Receiver<Chunk>) -> (u64, u64) {
    let mut state = [1469598103934665603u64; 64];
    let mut n = 0u64;
    while let Ok(chunk) = rx.recv() {
        archive(&mut state, &chunk);
        n += 1;
    }
    (n, state.iter().fold(0u64, |a, b| a.wrapping_add(*b)))
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1).max(1);
    let total: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(150_000);
    let (tx, rx) = sync_channel::<Chunk>(256);
    let sink = thread::spawn(move || drain(rx));
    let mut pool = Vec::new();
    for t in 0..threads {
        let tx = tx.clone();
        pool.push(thread::spawn(move || {
            collect(total * t / threads, total * (t + 1) / threads, tx)
        }));
    }
    drop(tx);
    for h in pool {
        h.join().unwrap();
    }
    let (n, _digest) = sink.join().unwrap();
    println!("chunks {} of {}", n, total);
}
