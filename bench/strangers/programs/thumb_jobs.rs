use std::thread;

#[inline(never)]
fn shrink(seq: u64) -> u64 {
    let mut src = [0u8; 2048];
    let mut x = seq.wrapping_mul(0x9e3779b97f4a7c15) | 1;
    for px in src.iter_mut() {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *px = x as u8;
    }
    let mut sum = 0u64;
    for quad in src.chunks(4) {
        let mean = quad.iter().map(|p| *p as u64).sum::<u64>() / 4;
        sum = sum.wrapping_mul(31).wrapping_add(mean);
    }
    sum
}

#[inline(never)]
fn run_wave(first: u64, last: u64) -> u64 {
    let mut jobs = Vec::new();
    for seq in first..last {
        jobs.push(thread::spawn(move || shrink(seq)));
    }
    let mut sum = 0u64;
    for j in jobs {
        sum = sum.wrapping_add(j.join().unwrap());
    }
    sum
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1).max(1);
    let total: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(24_000);
    let mut sum = 0u64;
    let mut seq = 0u64;
    while seq < total {
        let end = (seq + threads).min(total);
        sum = sum.wrapping_add(run_wave(seq, end));
        seq = end;
    }
    println!("images {} sum {:x}", total, sum);
}
