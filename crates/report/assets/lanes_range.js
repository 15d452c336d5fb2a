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
  const words = [`${name} at ${stamp(at, (lanes.to - lanes.from) / 100)}`];
  const start = spans.start[i];
  if (start !== undefined && start <= at) {
    const kind = lanes.run.kinds[/** @type {number} */ (spans.kind[i])];
    const length = /** @type {number} */ (spans.end[i]) - start;
    let what = lanes.titles.get(kind?.[0] ?? 10) ?? "";
    if (kind?.[1]) what += `: ${kind[1]}`;
    words.push(what);
    words.push(view.exact ? time(length) : `about ${time(length)}`);
    if (spans.mixed?.[i]) words.push("mostly; a stretch with too many switches to record each");
    const waker = kind?.[2];
    if (waker !== null && waker !== undefined) words.push(`woken by ${lanes.run.lanes[waker]} in ${kind?.[3]} % of that wait's time`);
  } else {
    words.push("not alive, or not recorded");
  }
  const sampled = lanes.samples?.[lane];
  if (sampled) {
    const j = after(sampled.time, at);
    const near = [j - 1, j].filter((k) => k >= 0 && k < sampled.time.length && Math.abs(/** @type {number} */ (sampled.time[k]) - at) < lanes.run.sample_ns);
    const one = near[0];
    if (one !== undefined) words.push(`sampled in ${lanes.index.names[/** @type {number} */ (sampled.name[one])]}`);
  }
  if (lanes.run.tasks.length) {
    const task = lanes.run.tasks.filter((t) => t[0] === lane && t[1] <= at && at <= t[2]).pop();
    if (task) words.push(`task ${lanes.index.names[task[3]]}, ${time(task[2] - task[1])}`);
  }
  return words.join(" · ");
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
  return {
    classes: sorted(classes),
    waits: sorted(kinds).filter(([kind]) => !lanes.runs(kind) && lanes.run.kinds[kind]?.[1]).slice(0, 8),
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
  const rows = (/** @type {string} */ title, /** @type {string[][]} */ cells) =>
    el("div", {}, el("h4", {}, title), el("table", { class: "plain" }, el("tbody", {},
      ...cells.map((row) => el("tr", {}, ...row.map((cell, i) => el("td", { class: i ? "n" : "t" }, cell)))))));
  const all = sums.classes.reduce((sum, row) => sum + row[1], 0) || 1;
  lanes.panel.replaceChildren(
    el("div", { class: "tools" }, el("strong", {}, `${stamp(from, to - from)} to ${stamp(to, to - from)}: ${time(to - from)}`),
      el("button", { type: "button", click: () => lanes.show(from, to) }, "zoom to it"),
      el("button", { type: "button", click: () => lanes.unselect() }, "end the selection")),
    el("div", { class: "columns" },
      rows("What the threads did", sums.classes.map(([of, ns]) => [lanes.titles.get(of) ?? "", time(ns), percent(ns / all)])),
      rows("Waits", sums.waits.map(([kind, ns]) => [lanes.run.kinds[kind]?.[1] ?? "", time(ns), percent(ns / all)])),
      rows("Functions", sums.functions.map(([name, n]) => [lanes.index.names[name] ?? "", plural(n, "sample"), percent(n / (sums.samples || 1))])),
      rows("Threads", sums.threads.map(([lane, r, w]) => [lanes.run.lanes[lane] ?? "", `${time(r)} running`, percent(r / (r + w))]))));
  lanes.panel.hidden = false;
}

/**
 * A moment, with the digits that tell it from its neighbours.
 * @param {number} ns
 * @param {number} step
 */
function stamp(ns, step) {
  if (ns === 0) return "0";
  const [factor, unit] = step >= 1e7 || ns >= 1e10 ? [1e9, "s"] : step >= 1e4 || ns >= 1e7 ? [1e6, "ms"] : [1e3, "µs"];
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / factor))));
  return `${(ns / factor).toFixed(places)} ${unit}`;
}
