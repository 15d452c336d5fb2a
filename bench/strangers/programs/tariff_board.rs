use std::env;
use std::sync::{Arc, RwLock};
use std::thread;

const MESSAGES: u64 = 260_000;
const ZONES: usize = 24;
const BANDS: usize = 1024;

struct Zone {
    rates: Vec<u64>,
    revision: u64,
}

struct TariffBoard {
    zones: RwLock<Vec<Zone>>,
}

fn rotate(mut x: u64) -> u64 {
    x ^= x >> 31;
    x = x.wrapping_mul(0x9e3779b97f4a7c15);
    x ^= x >> 27;
    x
}

impl TariffBoard {
    fn new() -> Self {
        let mut zones = Vec::with_capacity(ZONES);
        for _ in 0..ZONES {
            zones.push(Zone {
                rates: vec![1u64; BANDS],
                revision: 0,
            });
        }
        TariffBoard {
            zones: RwLock::new(zones),
        }
    }

    fn revise(&self, zone: usize, index: u64) {
        let mut zones = self.zones.write().unwrap();
        let entry = &mut zones[zone];
        let mut carry = index;
        for rate in entry.rates.iter_mut() {
            carry = rotate(carry.wrapping_add(*rate));
            *rate = carry;
        }
        entry.revision += 1;
    }

    fn rate(&self, zone: usize, band: usize) -> u64 {
        let zones = self.zones.read().unwrap();
        zones[zone].rates[band] >> 32
    }
}

fn run_office(board: &TariffBoard, seed: u64, messages: u64) -> u64 {
    let mut state = seed;
    let mut billed = 0u64;
    for _ in 0..messages {
        state = rotate(state.wrapping_add(0x2545f4914f6cdd1d));
        let zone = ((state >> 8) % ZONES as u64) as usize;
        if (state >> 40) % 10 < 8 {
            board.revise(zone, state);
        } else {
            let band = ((state >> 20) % BANDS as u64) as usize;
            billed = billed.wrapping_add(board.rate(zone, band));
        }
    }
    billed
}

fn main() {
    let offices: u64 = env::args()
        .nth(1)
        .and_then(|text| text.parse::<u64>().ok())
        .unwrap_or(1)
        .max(1);
    let board = Arc::new(TariffBoard::new());
    let handles: Vec<thread::JoinHandle<u64>> = (0..offices)
        .map(|office| {
            let board = Arc::clone(&board);
            let share = MESSAGES * (office + 1) / offices - MESSAGES * office / offices;
            thread::spawn(move || run_office(&board, office + 19, share))
        })
        .collect();
    let mut billed = 0u64;
    for handle in handles {
        billed = billed.wrapping_add(handle.join().unwrap());
    }
    let zones = board.zones.read().unwrap();
    let revisions: u64 = zones.iter().map(|zone| zone.revision).sum();
    println!("revisions {} billed {:x}", revisions, billed);
}
