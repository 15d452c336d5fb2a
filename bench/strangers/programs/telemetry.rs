// Reads sensor packets, smooths them and keeps a ranking of the odd ones.
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

const PACKETS: u32 = 160_000;
const SENSORS: u32 = 500;
const SAMPLES: usize = 24;

struct Packet {
    sensor: u32,
    samples: [f64; SAMPLES],
}

impl Packet {
    fn receive(number: u32) -> Packet {
        let mut h = number.wrapping_mul(2654435761) ^ 0x5bd1e995;
        let mut samples = [0.0; SAMPLES];
        for s in samples.iter_mut() {
            h = h.wrapping_mul(1664525).wrapping_add(1013904223);
            *s = f64::from(h >> 8) / f64::from(1 << 24) - 0.5;
        }
        Packet { sensor: number % SENSORS, samples }
    }

    fn calibrate(mut self) -> Packet {
        let gain = 1.0 + f64::from(self.sensor % 7) * 0.01;
        for s in self.samples.iter_mut() {
            *s = (*s * gain).clamp(-0.5, 0.5);
        }
        self
    }
}

#[derive(Default)]
struct Channel {
    level: f64,
    noise: f64,
    history: Vec<f64>,
}

#[derive(Default)]
struct Monitor {
    channels: HashMap<u32, Channel>,
    ranking: BTreeMap<u64, u32>,
    alarms: u64,
}

impl Monitor {
    fn accept(&mut self, packet: Packet) {
        let channel = self.channels.entry(packet.sensor).or_default();
        for s in packet.samples {
            let difference = s - channel.level;
            channel.level += 0.05 * difference;
            channel.noise += 0.05 * (difference.abs().sqrt() - channel.noise);
            channel.history.push(difference);
        }
        if channel.history.len() > 480 {
            channel.history.drain(..SAMPLES);
        }
        let score = spectrum_peak(&channel.history, packet.sensor);
        if score > channel.noise * 3.0 {
            self.alarms += 1;
        }
        self.ranking.insert((score * 1e9) as u64, packet.sensor);
        if self.ranking.len() > 1000 {
            self.ranking.pop_first();
        }
    }
}

fn spectrum_peak(history: &[f64], sensor: u32) -> f64 {
    let mut best: f64 = 0.0;
    for k in 1..5u32 {
        let w = 2.0 * (f64::from(k) * 0.37 + f64::from(sensor % 5) * 0.01).cos();
        let (mut a, mut b) = (0.0, 0.0);
        for x in history {
            let c = x + w * a - b;
            b = a;
            a = c;
        }
        best = best.max((a * a + b * b - w * a * b) / history.len() as f64);
    }
    best
}

fn read_sensors(first: u32, last: u32, out: SyncSender<Packet>) {
    for number in first..last {
        let packet = Packet::receive(number).calibrate();
        if out.send(packet).is_err() {
            return;
        }
    }
}

fn watch(packets: Receiver<Packet>) -> Monitor {
    let mut monitor = Monitor::default();
    for packet in packets {
        monitor.accept(packet);
    }
    monitor
}

fn main() {
    let readers: u32 = env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let (out, packets) = mpsc::sync_channel(256);
    let handles: Vec<_> = (0..readers)
        .map(|r| {
            let out = out.clone();
            let (first, last) = (PACKETS / readers * r, PACKETS / readers * (r + 1));
            thread::spawn(move || read_sensors(first, last, out))
        })
        .collect();
    drop(out);
    let monitor = watch(packets);
    for handle in handles {
        handle.join().unwrap();
    }
    println!("channels {} alarms {} ranked {}", monitor.channels.len(), monitor.alarms, monitor.ranking.len());
}
