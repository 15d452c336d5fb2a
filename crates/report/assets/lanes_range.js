// Words for a moment and sums for a stretch of the lanes.

/**
 * What is under the pointer; nothing when there is no lane.
 * @param {Lanes} lanes
 */
function wordsAt(lanes) {
  const view = lanes.spans();
  if (!lanes.pointer || !view || lanes.pointer.x < lanes.names()) return "";
  const lane = Math.floor((lanes.pointer.y + lanes.body.scrollTop - LANE.axis) / lanes.rowHeight());
  const at = lanes.timeAt(lanes.pointer.x);
  const spans = view.spans[lane];
  const name = lanes.run.lanes[lane];
  if (!spans || name === undefined) return "";
  const i = after(spans.end, at);
  const sample = sampleAt(lanes, lane, at);
  const words = [`${name} at ${stamp(at, (lanes.to - lanes.from) / 100)}`];
  const start = spans.start[i];
  if (start !== undefined && start <= at) {
    const kind = lanes.run.kinds[/** @type {number} */ (spans.kind[i])];
    const length = /** @type {number} */ (spans.end[i]) - start;
    let what = lanes.titles.get(kind?.[0] ?? 10) ?? "";
    if (kind?.[1]) what += `: ${kind[1]}`;
    words.push(what);
    // Where what a thread ran changes is known from samples only.
    const sure = view.exact && !lanes.running.has(kind?.[0] ?? 10);
    words.push(sure ? time(length) : `about ${time(length)}`);
    if (spans.mixed?.[i]) words.push("mostly; a stretch with too many switches to record each");
    const waker = kind?.[2];
    if (waker !== null && waker !== undefined) {
      const share = kind?.[3] ?? 0;
      words.push(`woken by ${lanes.run.lanes[waker]}${share < 99.5 ? ` for ${share} % of the time waited so` : ""}`);
    }
  } else {
    words.push("not alive, or not recorded");
  }
  if (sample) words.push(`sampled in ${sample}`);
  if (lanes.run.tasks.length) {
    const task = lanes.run.tasks.filter((t) => t[0] === lane && t[1] <= at && at <= t[2]).pop();
    if (task) words.push(`task ${lanes.index.names[task[3]]}, ${time(task[2] - task[1])}`);
  }
  return words.join(" · ");
}

/**
 * The function in which a lane's thread was sampled around a moment.
 * @param {Lanes} lanes
 * @param {number} lane
 * @param {number} at
 */
function sampleAt(lanes, lane, at) {
  const sampled = lanes.samples?.[lane];
  if (!sampled) return "";
  const j = after(sampled.time, at);
  const near = [j - 1, j].find((k) => k >= 0 && k < sampled.time.length && Math.abs(/** @type {number} */ (sampled.time[k]) - at) < lanes.run.sample_ns);
  return near === undefined ? "" : lanes.index.names[/** @type {number} */ (sampled.name[near])] ?? "";
}

/**
 * What happened in a stretch, as far as the page knows it.
 * @param {Lanes} lanes
 * @param {number} from
 * @param {number} to
 * @returns {Sums | null}
 */
function sumUp(lanes, from, to) {
  const finest = [...lanes.run.levels].reverse().map((l) => lanes.loaded.get(l.id)).find((s) => s);
  if (!finest) return null;
  /** @type {Map<number, number>} */
  const kinds = new Map();
  /** @type {Sums["threads"]} */
  const threads = [];
  /** @type {Map<number, number>} */
  const names = new Map();
  let samples = 0;
  finest.forEach((spans, lane) => {
    let [running, waiting] = [0, 0];
    for (let i = after(spans.end, from); i < spans.start.length; i++) {
      const start = /** @type {number} */ (spans.start[i]);
      if (start >= to) break;
      const inside = Math.min(to, /** @type {number} */ (spans.end[i])) - Math.max(from, start);
      const kind = /** @type {number} */ (spans.kind[i]);
      kinds.set(kind, (kinds.get(kind) ?? 0) + inside);
      if (lanes.runs(kind)) running += inside;
      else waiting += inside;
    }
    if (running + waiting > 0) threads.push([lane, running, waiting]);
    const sampled = lanes.samples?.[lane];
    for (let i = sampled ? after(sampled.time, from) : 0; sampled && i < sampled.time.length; i++) {
      if (/** @type {number} */ (sampled.time[i]) > to) break;
      const name = /** @type {number} */ (sampled.name[i]);
      names.set(name, (names.get(name) ?? 0) + 1);
      samples++;
    }
  });
  /** @type {Map<number, number>} */
  const classes = new Map();
  for (const [kind, ns] of kinds) {
    const of = lanes.run.kinds[kind]?.[0] ?? 10;
    classes.set(of, (classes.get(of) ?? 0) + ns);
  }
  const sorted = (/** @type {Map<number, number>} */ map) => [...map].sort((a, b) => b[1] - a[1]);
  // Kinds are also told apart by who wakes, which no row says: one row for what is called the same.
  /** @type {Map<string, number>} */
  const firsts = new Map();
  /** @type {Map<number, number>} */
  const waits = new Map();
  for (const [kind, ns] of kinds) {
    const words = lanes.run.kinds[kind]?.[1];
    if (lanes.runs(kind) || !words) continue;
    const first = firsts.get(words) ?? kind;
    firsts.set(words, first);
    waits.set(first, (waits.get(first) ?? 0) + ns);
  }
  return {
    classes: sorted(classes),
    waits: sorted(waits).slice(0, 8),
    functions: sorted(names).slice(0, 8),
    samples,
    threads: threads.sort((a, b) => b[1] - a[1]).slice(0, 8),
  };
}

/**
 * The tables of the selected stretch.
 * @param {Lanes} lanes
 * @param {number} from
 * @param {number} to
 * @param {Sums} sums
 */
function showSums(lanes, from, to, sums) {
  const rows = (/** @type {string} */ title, /** @type {string} */ share, /** @type {string[][]} */ cells) =>
    el("div", {}, el("h4", {}, title, el("span", { class: "faint" }, ` ${share}`)), el("table", { class: "plain" }, el("tbody", {},
      ...cells.map((row) => el("tr", {}, ...row.map((cell, i) => (i ? el("td", { class: "n" }, cell) : el("td", { class: "what", title: cell }, ...breakable(cell)))))))));
  const all = sums.classes.reduce((sum, row) => sum + row[1], 0) || 1;
  lanes.panel.replaceChildren(
    el("div", { class: "tools" }, el("strong", {}, `${stamp(from, (to - from) / 100, to)} to ${stamp(to, (to - from) / 100)}: ${time(to - from)}`),
      el("button", { type: "button", click: () => lanes.show(from, to) }, "zoom to it"),
      el("button", { type: "button", click: () => lanes.unselect() }, "end the selection")),
    el("div", { class: "columns" },
      rows("What the threads did", "share of their time", sums.classes.map(([of, ns]) => [lanes.titles.get(of) ?? "", time(ns), percent(ns / all)])),
      rows("Waits", "share of the threads' time", sums.waits.map(([kind, ns]) => [lanes.run.kinds[kind]?.[1] ?? "", time(ns), percent(ns / all)])),
      rows("Functions", "samples, and their share", sums.functions.map(([name, n]) => [lanes.index.names[name] ?? "", String(n), percent(n / (sums.samples || 1))])),
      rows("Threads", "running, and the share of its time", sums.threads.map(([lane, r, w]) => [lanes.run.lanes[lane] ?? "", time(r), percent(r / (r + w))]))));
  lanes.panel.hidden = false;
}

/**
 * A moment, with the digits that tell it from its neighbours.
 * @param {number} ns
 * @param {number} step
 * @param {number} [most] the largest one beside it: all have one unit
 */
function stamp(ns, step, most = ns) {
  if (ns === 0) return "0";
  const [factor, unit] = most >= 1e9 ? [1e9, "s"] : most >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / factor))));
  return `${(ns / factor).toFixed(places)} ${unit}`;
}
