// Reads the lanes from a page, as crates/report/src/html/pack.rs writes them, so that tests check the data that the page draws.
import { inflateRawSync } from "node:zlib";

/** Numbers in groups of seven bits, the lowest first (LEB128). */
function* numbers(bytes) {
  let [value, factor] = [0, 1];
  for (const byte of bytes) {
    value += (byte & 127) * factor;
    factor *= 128;
    if (byte < 128) {
      yield value;
      [value, factor] = [0, 1];
    }
  }
}

/**
 * The observed run with this thread count: its lanes and the program's tasks. Each span has start and end in nanoseconds,
 * class, whether the thread runs, label, and whether it sums up several.
 */
export async function lanesOf(page, threads) {
  const index = JSON.parse(await page.locator("#index").textContent());
  const run = index.runs.find((run) => run.threads === threads);
  const level = run.levels.at(-1);
  if (level.count !== 0) throw new Error(`the page of ${threads} threads has no spans in full detail`);
  const bytes = inflateRawSync(Buffer.from(await page.locator(`[id="${level.id}"]`).textContent(), "base64"));
  const next = numbers(bytes);
  const number = () => next.next().value;
  const classes = new Map(index.classes.map(([number, key, , runs]) => [number, { key, runs }]));
  const lanes = run.lanes.map((name) => {
    let at = 0;
    const spans = Array.from({ length: number() }, () => {
      const start = at + number();
      at = start + number();
      const kind = number();
      const [of, label] = run.kinds[kind >> 1];
      return { start, end: at, is: classes.get(of)?.key, runs: classes.get(of)?.runs === true, label, mixed: (kind & 1) === 1 };
    });
    return { name, spans };
  });
  const tasks = run.tasks.map(([lane, start, end, name]) => ({ lane, start, end, name: index.names[name] }));
  return { length: run.length, lanes, tasks };
}

/**
 * Calls `see(nanoseconds, states)` for every stretch in which no lane changes. `states` has an entry for each lane that
 * the stretches `of` (lane → stretches, ascending) cover then.
 */
export function everyInstant(of, see) {
  const edges = [...new Set(of.flat().flatMap((s) => [s.start, s.end]))].sort((a, b) => a - b);
  const at = of.map(() => 0);
  for (let i = 0; i + 1 < edges.length; i++) {
    const [from, to] = [edges[i], edges[i + 1]];
    const states = [];
    of.forEach((stretches, lane) => {
      while (at[lane] < stretches.length && stretches[at[lane]].end <= from) at[lane]++;
      const one = stretches[at[lane]];
      if (one && one.start <= from) states.push({ ...one, lane });
    });
    see(to - from, states);
  }
}

/** The parts of `stretches` that lie in `others`; both ascending, without overlaps. */
export function inside(stretches, others) {
  const parts = [];
  let first = 0;
  for (const one of stretches) {
    while (first < others.length && others[first].end <= one.start) first++;
    for (let i = first; i < others.length && others[i].start < one.end; i++)
      parts.push({ ...one, start: Math.max(one.start, others[i].start), end: Math.min(one.end, others[i].end) });
  }
  return parts;
}
