use collect::*;
use recording::*;
struct S;
impl OutputSink for S {
    fn bytes(&mut self, _: Stream, b: &[u8]) {
        print!("{}", String::from_utf8_lossy(b));
    }
}
fn main() {
    let argv: Vec<_> = std::env::args_os().skip(2).collect();
    let out = std::env::args().nth(1).unwrap();
    let c = Command { argv, env: vec![], cwd: None };
    let o = RunOptions::default();
    let stop = Stop::new();
    for _ in 0..2 {
        let f = run_clean(&c, &o, &mut S, &stop).unwrap();
        println!("clean {:.3} {:?}", f.wall_ns as f64 / 1e9, f.exit);
    }
    let _ = std::fs::remove_dir_all(&out);
    let mut w = Writer::create(&out, &recording::synthetic::meta(2)).unwrap();
    let mut t = Tracer::new();
    let f = t.run(&c, &o, &mut S, &stop, &mut w, RunId(0)).unwrap();
    println!("traced {:.3} {:?}", f.wall_ns as f64 / 1e9, f);
}
