// How the lanes are drawn: bars, brackets of tasks, arrows, the time axis, the minimap.

/** Arrows are drawn where the eye can still follow them: one in so many pixels at most. */
const ARROW_APART = 8;
/** Pixels from which the two ends of a task's bracket are told apart. */
const NARROW_TASK = 6;
/** How high a class is drawn: what runs is told from what waits without any colour. */
const HEIGHTS = { user: 1, system: 1, sync: 1, spin: 1, allocator: 1, runtime: 1, unsampled: 1, preempted: 0.7, runnable: 0.7, kernel: 0.5, lock: 0.5, wait: 0.28, io: 0.28, sleep: 0.28, unknown: 0.28 };

/** Running, and yet getting nowhere. */
const STRUCK = new Set(["sync", "spin"]);

/**
 * The whole picture.
 * @param {Lanes} lanes
 */
function drawLanes(lanes) {
  const width = lanes.place.clientWidth - 2;
  if (width < 50) return;
  const rows = lanes.rowHeight();
  const full = LANE.axis + lanes.run.lanes.length * rows + 4;
  const height = Math.min(full, Math.max(160, Math.min(window.innerHeight * 0.7, 640)));
  lanes.spacer.style.height = `${full - height}px`;
  const context = prepare(lanes.canvas, width, height);
  const view = lanes.spans();
  drawMinimap(lanes, width);
  const top = lanes.body.scrollTop;
  const first = Math.max(0, Math.floor(top / rows) - 1);
  const last = Math.min(lanes.run.lanes.length, Math.ceil((top + height) / rows) + 1);
  for (let lane = first; lane < last; lane++) {
    const y = LANE.axis + lane * rows - top;
    const spans = view?.spans[lane];
    if (spans) drawLane(lanes, context, spans, y + (rows - LANE.height));
  }
  if (view?.exact) drawArrows(lanes, context, view.spans, top, first, last);
  if (lanes.run.tasks.length) drawTasks(lanes, context, first, last, top);
  context.fillStyle = colours.of("ground");
  context.fillRect(0, 0, lanes.names() - 2, height);
  context.fillStyle = colours.of("ink");
  context.textAlign = "right";
  for (let lane = first; lane < last; lane++) {
    const y = LANE.axis + lane * rows - top + (rows - LANE.height) + LANE.bar / 2 + 2;
    context.fillText(fitThread(context, lanes.run.lanes[lane] ?? "", lanes.names() - 12), lanes.names() - 8, y);
  }
  drawAxis(lanes, context, width, height);
  const hidden = lanes.run.lanes.length - Math.floor((top + height - LANE.axis) / rows);
  if (hidden > 0) drawMore(context, `${hidden} more below`, width, height);
  if (lanes.range) {
    const [a, b] = [lanes.xOf(lanes.range[0]), lanes.xOf(lanes.range[1])];
    context.fillStyle = colours.of("accent");
    context.globalAlpha = 0.14;
    context.fillRect(Math.max(a, lanes.names()), 0, Math.max(1, b - Math.max(a, lanes.names())), height);
    context.globalAlpha = 1;
  }
  if (lanes.pointer && lanes.pointer.x > lanes.names()) {
    context.fillStyle = colours.of("faint");
    context.fillRect(Math.round(lanes.pointer.x), 0, 1, height);
  }
  if (lanes.pointer) lanes.tell();
}

/**
 * That there is more where the picture ends.
 * @param {CanvasRenderingContext2D} context
 * @param {string} words
 * @param {number} width
 * @param {number} height
 */
function drawMore(context, words, width, height) {
  const wide = context.measureText(words).width + 12;
  context.globalAlpha = 0.9;
  context.fillStyle = colours.of("ground");
  context.fillRect(width - wide - 4, height - 20, wide, 18);
  context.globalAlpha = 1;
  context.fillStyle = colours.of("ink");
  context.textAlign = "right";
  context.fillText(words, width - 10, height - 11);
}

/**
 * A thread's name as far as there is room: its number at the end is what tells it from others of the same name.
 * @param {CanvasRenderingContext2D} context
 * @param {string} name
 * @param {number} width
 */
function fitThread(context, name, width) {
  const number = / \d+$/.exec(name)?.[0] ?? "";
  const room = width - context.measureText(number).width;
  return number && room > 0 ? fit(context, name.slice(0, -number.length), room) + number : fit(context, name, width);
}

/**
 * A thread.
 * @param {Lanes} lanes
 * @param {CanvasRenderingContext2D} context
 * @param {Spans} spans
 * @param {number} y
 */
function drawLane(lanes, context, spans, y) {
  const { start, end, kind } = spans;
  const scale = lanes.plot() / (lanes.to - lanes.from);
  const zero = lanes.names() - lanes.from * scale;
  const kinds = lanes.run.kinds;
  let colour = "";
  let covered = -1;
  for (let i = Math.max(0, after(end, lanes.from)); i < start.length; i++) {
    const from = /** @type {number} */ (start[i]);
    if (from >= lanes.to) break;
    const x1 = Math.min(zero + /** @type {number} */ (end[i]) * scale, zero + lanes.to * scale);
    // Skip spans that lie within a pixel that has been drawn already: they cannot be seen.
    if (x1 - covered < 0.5) continue;
    const x0 = Math.max(zero + from * scale, lanes.names(), covered);
    const of = /** @type {number} */ (kind[i]);
    const key = lanes.keys[kinds[of]?.[0] ?? 10] ?? "unknown";
    const dim = lanes.found !== null && !lanes.found.has(of);
    const wanted = (dim ? "dim " : "") + key;
    if (wanted !== colour) {
      colour = wanted;
      context.fillStyle = colours.of(key);
      context.globalAlpha = dim ? 0.18 : 1;
    }
    const height = LANE.bar * (HEIGHTS[/** @type {keyof typeof HEIGHTS} */ (key)] ?? 0.3);
    const wide = Math.max(0.5, x1 - x0);
    context.fillRect(x0, y + 2 + LANE.bar - height, wide, height);
    // Who runs for a lock is told from who gets on without any colour: by a line through the bar.
    if (STRUCK.has(key)) context.clearRect(x0, y + 2 + Math.round(LANE.bar * 0.3), wide, 2);
    covered = x1;
  }
  context.globalAlpha = 1;
}

/**
 * The program's own tasks as brackets above the lanes.
 * @param {Lanes} lanes
 * @param {CanvasRenderingContext2D} context
 * @param {number} first
 * @param {number} last
 * @param {number} top
 */
function drawTasks(lanes, context, first, last, top) {
  const rows = lanes.rowHeight();
  context.strokeStyle = colours.of("ink");
  context.fillStyle = colours.of("ink");
  context.textAlign = "left";
  context.font = "10px system-ui, sans-serif";
  // Brackets too narrow to tell their ends apart become a faint line: a row of full ones would dominate the picture.
  /** @type {Map<number, number>} */
  const drawn = new Map();
  context.globalAlpha = 0.35;
  for (const [lane, from, to] of lanes.run.tasks) {
    if (lane < first || lane >= last || to < lanes.from || from > lanes.to) continue;
    const [a, b] = [Math.max(lanes.xOf(from), lanes.names()), Math.min(lanes.xOf(to), lanes.names() + lanes.plot())];
    if (b - a >= NARROW_TASK || b - (drawn.get(lane) ?? 0) < 0.5) continue;
    drawn.set(lane, b);
    context.fillRect(a, LANE.axis + lane * rows - top + 6, Math.max(1, b - a - 0.5), 2);
  }
  context.globalAlpha = 1;
  context.beginPath();
  /** @type {[string, number, number][]} */
  const labels = [];
  for (const [lane, from, to, name, depth] of lanes.run.tasks) {
    if (lane < first || lane >= last || to < lanes.from || from > lanes.to) continue;
    const y = Math.round(LANE.axis + lane * rows - top + 5 + Math.min(depth, 1) * 2) + 0.5;
    const [a, b] = [Math.max(lanes.xOf(from), lanes.names()), Math.min(lanes.xOf(to), lanes.names() + lanes.plot())];
    if (b - a < NARROW_TASK) continue;
    // Leave a bracket open at an end that lies outside the picture.
    context.moveTo(a + 0.5, from < lanes.from ? y : y + 4);
    context.lineTo(a + 0.5, y);
    context.lineTo(b - 0.5, y);
    if (to <= lanes.to) context.lineTo(b - 0.5, y + 4);
    if (b - a < 30) continue;
    // A name cut to a letter or two tells nothing.
    const label = lanes.index.names[name] ?? "";
    const room = b - a - 16;
    if (room > 60 || context.measureText(label).width <= room) labels.push([fit(context, label, room), a + 6, y]);
  }
  context.stroke();
  // The label interrupts the bracket, as a title interrupts the border of a box.
  for (const [label, x, y] of labels) {
    context.fillStyle = colours.of("ground");
    context.fillRect(x - 2, y - 4, context.measureText(label).width + 4, 9);
    context.fillStyle = colours.of("ink");
    context.fillText(label, x, y + 0.5);
  }
  context.font = "12px system-ui, sans-serif";
}

/**
 * From the waker to the woken, where one thread ends that wait: solid when it always was the same.
 * @param {Lanes} lanes
 * @param {CanvasRenderingContext2D} context
 * @param {Spans[]} known
 * @param {number} top
 * @param {number} first
 * @param {number} last
 */
function drawArrows(lanes, context, known, top, first, last) {
  const rows = lanes.rowHeight();
  /** @type {[number, number, number, boolean][]} */
  const arrows = [];
  for (let lane = first; lane < last; lane++) {
    const spans = known[lane];
    if (!spans) continue;
    for (let i = after(spans.end, lanes.from); i < spans.start.length; i++) {
      const end = /** @type {number} */ (spans.end[i]);
      if (end > lanes.to) break;
      if (spans.mixed?.[i]) continue;
      const kind = lanes.run.kinds[/** @type {number} */ (spans.kind[i])];
      const waker = kind?.[2];
      if (waker === null || waker === undefined || (kind?.[3] ?? 0) < 50) continue;
      arrows.push([waker, lane, end, (kind?.[3] ?? 0) >= 99.5]);
      if (arrows.length > lanes.plot() / ARROW_APART) return;
    }
  }
  context.strokeStyle = colours.of("ink");
  context.fillStyle = colours.of("ink");
  context.globalAlpha = 0.55;
  for (const [waker, woken, at, sure] of arrows) {
    const x = lanes.xOf(at);
    const y = (/** @type {number} */ lane) => LANE.axis + lane * rows - top + (rows - LANE.height) + 2 + LANE.bar / 2;
    const [from, to] = [y(waker), y(woken)];
    context.setLineDash(sure ? [] : [3, 3]);
    context.beginPath();
    context.moveTo(x, from);
    context.lineTo(x, to);
    context.stroke();
    const tip = to > from ? -5 : 5;
    context.beginPath();
    context.moveTo(x, to);
    context.lineTo(x - 3, to + tip);
    context.lineTo(x + 3, to + tip);
    context.fill();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/**
 * Round moments.
 * @param {Lanes} lanes
 * @param {CanvasRenderingContext2D} context
 * @param {number} width
 * @param {number} height
 */
function drawAxis(lanes, context, width, height) {
  context.fillStyle = colours.of("ground");
  context.fillRect(0, 0, width, LANE.axis - 2);
  context.fillStyle = colours.of("faint");
  const about = Math.max(3, lanes.plot() / 130);
  const raw = (lanes.to - lanes.from) / about;
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].map((m) => m * magnitude).find((s) => s >= raw)) ?? raw;
  context.textAlign = "left";
  let free = lanes.names();
  for (let tick = Math.ceil(lanes.from / step) * step; tick <= lanes.to; tick += step) {
    const x = lanes.xOf(tick);
    context.globalAlpha = 0.25;
    context.fillRect(Math.round(x), 4, 1, height);
    context.globalAlpha = 1;
    const label = stamp(tick, step, lanes.to);
    const wide = context.measureText(label).width + 4;
    // The last label stands to the left of its line when there is no room to its right.
    const start = x + wide < width ? x + 4 : x - wide;
    if (start > free) context.fillText(label, start, 10);
    free = start + wide + 4;
  }
  context.textAlign = "right";
  const shown = time(lanes.to - lanes.from);
  const words = `shows ${shown}`;
  context.fillText(context.measureText(words).width < lanes.names() - 10 ? words : shown, lanes.names() - 8, 10);
}

/** From the bottom of the minimap up. */
const STACK = ["user", "unsampled", "runtime", "allocator", "system", "spin", "sync", "preempted", "runnable", "kernel", "lock", "io", "wait", "sleep"];

/**
 * What all threads did over the whole run, stacked; nothing where nothing was recorded.
 * @param {Lanes} lanes
 * @param {Spans[]} known
 * @param {number} columns
 * @param {number} high
 */
function stackOf(lanes, known, columns, high) {
  const sums = new Map(STACK.map((key) => [key, new Float32Array(columns)]));
  for (const spans of known) {
    for (let i = 0; i < spans.start.length; i++) {
      const into = sums.get(lanes.keys[lanes.run.kinds[/** @type {number} */ (spans.kind[i])]?.[0] ?? 10] ?? "");
      if (!into) continue;
      const from = (/** @type {number} */ (spans.start[i]) / lanes.run.length) * columns;
      const to = Math.min(columns, (/** @type {number} */ (spans.end[i]) / lanes.run.length) * columns);
      // Weighted by the part of the column that the span covers: on a narrow screen many spans fall into one column.
      for (let c = Math.floor(from); c < to; c++) into[c] = (into[c] ?? 0) + Math.min(to, c + 1) - Math.max(from, c);
    }
  }
  const picture = document.createElement("canvas");
  const context = prepare(picture, columns, high);
  const most = Math.max(1, known.length);
  for (let c = 0; c < columns; c++) {
    let top = high;
    for (const [key, of] of sums) {
      const tall = Math.min(top, (/** @type {number} */ (of[c]) / most) * high);
      if (tall <= 0) continue;
      context.fillStyle = colours.of(key);
      context.fillRect(c, top - tall, 1, tall);
      top -= tall;
    }
  }
  return picture;
}

/**
 * The whole run, small, with the part that is shown.
 * @param {Lanes} lanes
 * @param {number} width
 */
function drawMinimap(lanes, width) {
  const context = prepare(lanes.minimap, width, LANE.minimap);
  const level = lanes.run.levels[0];
  const known = level && lanes.loaded.get(level.id);
  const [left, plot, high] = [lanes.names(), lanes.plot(), LANE.minimap - 6];
  if (known) {
    const columns = Math.max(1, Math.floor(plot));
    // The picture of the whole run does not change while one zooms.
    const of = `${columns} ${window.devicePixelRatio} ${colours.of("ground")}`;
    if (lanes.whole?.of !== of || lanes.whole.known !== known) lanes.whole = { of, known, picture: stackOf(lanes, known, columns, high) };
    context.drawImage(lanes.whole.picture, left, 3, columns, high);
  }
  const a = left + (lanes.from / lanes.run.length) * plot;
  const b = left + (lanes.to / lanes.run.length) * plot;
  context.fillStyle = colours.of("ground");
  context.globalAlpha = 0.6;
  context.fillRect(left, 0, a - left, LANE.minimap);
  context.fillRect(b, 0, left + plot - b, LANE.minimap);
  context.globalAlpha = 1;
  context.strokeStyle = colours.of("accent");
  context.lineWidth = 1.5;
  context.strokeRect(a, 1, Math.max(2, b - a), LANE.minimap - 2);
  context.lineWidth = 1;
  context.fillStyle = colours.of("faint");
  context.textAlign = "right";
  context.fillText("whole run", left - 8, LANE.minimap / 2);
}
