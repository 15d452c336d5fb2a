// Threads that wait for one lock: `node contended.js THREADS ROUNDS`.
const { Worker, isMainThread, workerData } = require("worker_threads");

function computeSlowly(seed) {
  let value = seed;
  for (let i = 0; i < 20000; i++) value = (value * 1103515245 + 12345) & 0x7fffffff;
  return value;
}

function worker(lock, rounds) {
  for (let round = 0; round < rounds; round++) {
    while (Atomics.compareExchange(lock, 0, 0, 1) !== 0) Atomics.wait(lock, 0, 1);
    lock[1] = computeSlowly(round);
    Atomics.store(lock, 0, 0);
    Atomics.notify(lock, 0, 1);
  }
}

if (isMainThread) {
  const lock = new Int32Array(new SharedArrayBuffer(8));
  const rounds = Number(process.argv[3]);
  for (let i = 0; i < Number(process.argv[2]); i++) new Worker(__filename, { workerData: { lock, rounds } });
} else {
  worker(workerData.lock, workerData.rounds);
}
