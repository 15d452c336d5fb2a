use std::env;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread;

const BATCHES: u64 = 8000;
const SAMPLES: usize = 64;
const SAMPLE_ROUNDS: usize = 64;
const DIGEST_ROUNDS: usize = 400;

struct Batch {
    sensor: u64,
    samples: [u64; SAMPLES],
}

fn stir(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51afd7ed558ccd);
    x ^= x >> 29;
    x
}

fn read_sensor(sensor: u64) -> Batch {
    let mut samples = [0u64; SAMPLES];
    let mut signal = sensor.wrapping_add(1);
    for round in 0..SAMPLE_ROUNDS {
        for sample in samples.iter_mut() {
            signal = stir(signal.wrapping_add(round as u64));
            *sample ^= signal;
        }
    }
    Batch { sensor, samples }
}

fn run_station(first: u64, step: u64, outbox: SyncSender<Batch>) {
    let mut sensor = first;
    while sensor < BATCHES {
        if outbox.send(read_sensor(sensor)).is_err() {
            return;
        }
        sensor += step;
    }
}

fn digest_batch(state: u64, batch: &Batch) -> u64 {
    let mut digest = state ^ batch.sensor;
    for _ in 0..DIGEST_ROUNDS {
        for sample in batch.samples.iter() {
            digest = stir(digest.wrapping_add(*sample));
        }
    }
    digest
}

fn collect_digest(inbox: Receiver<Batch>) -> (u64, u64) {
    let mut count = 0u64;
    let mut digest = 5u64;
    for batch in inbox {
        digest = digest_batch(digest, &batch);
        count += 1;
    }
    (count, digest)
}

fn main() {
    let stations: u64 = env::args()
        .nth(1)
        .and_then(|text| text.parse::<u64>().ok())
        .unwrap_or(1)
        .max(1);
    let (outbox, inbox) = sync_channel::<Batch>(32);
    let mut handles = Vec::new();
    for station in 0..stations {
        let sender = outbox.clone();
        handles.push(thread::spawn(move || run_station(station, stations, sender)));
    }
    drop(outbox);
    let (count, digest) = collect_digest(inbox);
    for handle in handles {
        handle.join().unwrap();
    }
    println!("batches {} digest {:x}", count, digest);
}
