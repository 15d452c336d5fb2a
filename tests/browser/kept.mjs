// What the pages of the kept recordings (fixtures/) must show: the pictures by which the published cases were solved. Lanes
// are checked by the data that the page draws, and by the words that it shows about them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { frames, open, picture } from "./harness.mjs";
import { everyInstant, inside, lanesOf } from "./lanes.mjs";

const running = (span) => span.runs;

/** The program's own tasks of one name, as a list for each lane. */
const tasksOf = ({ lanes, tasks }, name) => lanes.map((_, lane) => tasks.filter((task) => task.lane === lane && task.name === name));

/**
 * `all`: the share of the run in which at least two threads do a task of this name. Of that time, `run` is the share in
 * which two of them run, and `wait` the share in which one waits inside the kernel.
 */
function together(run, name) {
  const during = tasksOf(run, name).map((tasks, lane) => inside(run.lanes[lane].spans, tasks));
  let [all, run2, waits] = [0, 0, 0];
  everyInstant(during, (ns, spans) => {
    if (spans.length < 2) return;
    all += ns;
    if (spans.filter(running).length > 1) run2 += ns;
    if (spans.some((span) => span.is === "kernel")) waits += ns;
  });
  return { all: all / run.length, run: run2 / all, wait: waits / all };
}

/** Workers (lanes with a task) that call munmap, and seconds that threads wait for the lock of the memory map. */
function mapping({ lanes, tasks }) {
  const workers = lanes.filter((_, lane) => tasks.some((task) => task.lane === lane));
  const calling = workers.filter(({ spans }) => spans.some((span) => span.is === "system" && span.label === "munmap"));
  const waits = lanes.flatMap(({ spans }) => spans.filter((span) => span.is === "kernel" && span.label.includes("mmap_lock")));
  return { calling: calling.length, waited: waits.reduce((sum, span) => sum + span.end - span.start, 0) / 1e9 };
}

/** Selects a stretch of the whole run by dragging, and returns the panel about it. */
async function select(page, run, from, to) {
  const canvas = page.locator(".lanes .body canvas");
  await canvas.scrollIntoViewIfNeeded();
  await canvas.focus();
  await page.keyboard.press("0");
  await frames(page);
  const box = await canvas.boundingBox();
  // The lanes' names take 150 pixels beside them: see lanes.js.
  const [names, plot] = [150, box.width - 154];
  const x = (time) => box.x + names + (time / run.length) * plot;
  await page.mouse.move(x(from), box.y + 60);
  await page.mouse.down();
  await page.mouse.move(x(to), box.y + 60, { steps: 3 });
  await page.mouse.up();
  const range = page.locator(".range");
  await range.waitFor();
  return range;
}

// With more threads than processors: with only as many, threads that wait for the lock mostly spin inside the kernel, and a
// spinning thread is on a processor.
test("the lanes of pagesum: threads map side by side and unmap one at a time", async () => {
  const { page, complaints, close } = await open("pagesum");
  const run = await lanesOf(page, 4);
  const [map, unmap] = [together(run, "map and sum"), together(run, "unmap")];
  const shares = JSON.stringify({ map, unmap });
  assert.ok(unmap.all > 0.2, `threads unmap at the same time: ${shares}`);
  assert.ok(unmap.run < 0.1, `nearly always at most one of them runs: ${shares}`);
  assert.ok(unmap.wait > 0.75, `meanwhile others wait inside the kernel: ${shares}`);
  assert.ok(map.run > 3 * unmap.run, `the reason is no lack of processors: ${shares}`);
  assert.equal(mapping(run).calling, 4);
  // In words: the longest stretch in which a thread unmaps.
  const [longest] = tasksOf(run, "unmap").flat().sort((a, b) => b.end - b.start - (a.end - a.start));
  const range = await select(page, run, longest.start, longest.end);
  const rows = await range.locator("tr").allInnerTexts();
  assert.ok(rows.some((row) => row.startsWith("waiting for a kernel lock or a page")), rows.join("\n"));
  const waits = await range.locator("div", { has: page.getByRole("heading", { name: "Waits" }) }).last().locator("tr").allInnerTexts();
  // The main thread waits for the end of the others all the time.
  const [first] = waits.filter((row) => !row.startsWith("a thread's end"));
  assert.match(first ?? "", /^kernel lock mmap_lock in munmap, from unmap_chunk/);
  await range.getByRole("button", { name: "zoom to it" }).click();
  await range.getByRole("button", { name: "end the selection" }).click();
  await frames(page);
  await page.locator("#lanes").screenshot({ path: picture("pagesum-unmapping") });
  assert.deepEqual(complaints, []);
  await close();
});

test("the lanes of pagesum's pipeline: one thread maps and unmaps, and nobody waits for the memory map", async () => {
  const { page, complaints, close } = await open("pagesum-pipeline");
  const before = await open("pagesum");
  for (const threads of [2, 4]) {
    const [each, pipeline] = [mapping(await lanesOf(before.page, threads)), mapping(await lanesOf(page, threads))];
    assert.deepEqual([each.calling, pipeline.calling], [threads, 1]);
    // Seconds of waiting in runs of about one second each.
    assert.ok(each.waited > 0.1 && pipeline.waited < 0.001, JSON.stringify({ each, pipeline }));
  }
  await before.close();
  const run = await lanesOf(page, 4);
  const range = await select(page, run, run.length * 0.4, run.length * 0.5);
  assert.doesNotMatch(await range.innerText(), /kernel lock/);
  assert.match(await range.innerText(), /work in pthread_cond_wait, from queue_pop/);
  await page.locator("#lanes").screenshot({ path: picture("pagesum-pipeline-range") });
  assert.deepEqual(complaints, []);
  await close();
});

test("the page of list.toml shows five curves, and leads to the pages of its cases", async () => {
  const { page, complaints, close } = await open("list");
  const names = ["list", "list-p", "list-pm", "list-pml", "list-pmla"];
  for (const drawing of await page.locator("#curves figure").all()) {
    const curves = drawing.locator("polyline.line");
    assert.equal(await curves.count(), 5);
    for (const curve of await curves.all()) {
      const points = (await curve.getAttribute("points")).split(" ");
      assert.equal(points.length, 3, "a point for each thread count");
      const box = await curve.boundingBox();
      assert.ok(box.width > 100, `a curve of ${box.width} pixels`);
    }
    assert.equal(new Set(await curves.evaluateAll((all) => all.map((one) => getComputedStyle(one).stroke))).size, 5, "colours");
    assert.deepEqual((await drawing.locator("text.sign").allTextContents()).sort(), ["A", "B", "C", "D", "E"]);
    const legend = (await drawing.locator(".legend li").allInnerTexts()).map((text) => text.trim());
    assert.deepEqual(legend.slice(0, 5), names.map((name, i) => `${"ABCDE"[i]} ${name}`));
  }
  assert.deepEqual(await page.locator("#answer tbody a").allInnerTexts(), names);
  assert.deepEqual(complaints, []);
  await page.locator("#answer tbody a").first().click();
  await page.waitForLoadState("load");
  assert.match(await page.locator("#answer .verdict").innerText(), /lock/);
  await close();
});

test("what grew most in wavefront is the function that spins", async () => {
  const { page, complaints, close } = await open("wavefront");
  const culprit = await page.locator("#cause-spin-wait .culprit strong").innerText();
  const first = page.locator("#grew table.data").first().locator("tbody tr").first();
  assert.equal(await first.locator("td").first().innerText(), "wait_spin");
  assert.equal(culprit, "wait_spin");
  assert.ok(await first.isVisible());
  assert.deepEqual(complaints, []);
  await close();
});
