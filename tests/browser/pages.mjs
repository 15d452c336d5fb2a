// Every page in a real browser, at two widths, light, dark and on paper, and its controls; `./dev browser` runs it.
// What the pages of the kept recordings must show is in kept.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { beyond, broken, frames, KNEE_BINARY, KNEE_PAGES, labels, open, pages, pale, picture as file, settled } from "./harness.mjs";

const wanted = ["hostile", "many", "alone", "empty", "cases", "cases-map", "cases-hostile",
  "birthday", "pagesum", "pagesum-pipeline", "list", "wavefront", "spawn"];
for (const name of wanted) assert.ok(pages.has(name), `no page ${name} among ${[...pages.keys()]}`);

for (const name of pages.keys()) {
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [400, "light"], [400, "dark"]]) {
    test(`${name} at ${width} pixels, ${colorScheme}`, async () => {
      const { page, complaints, close } = await open(name, { viewport: { width, height: 900 }, colorScheme });
      if ((await page.locator("#lanes-view").count()) > 0) await page.locator(".lanes canvas").last().waitFor();
      await settled(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `the page is ${wide} pixels wide`);
      // A picture of a section as high as the window would lose as much as the padding takes.
      await page.evaluate(() => (document.documentElement.style.scrollPaddingTop = "0"));
      // The table of contents follows the scrolling, and would lie over the picture.
      await page.evaluate(() => document.querySelector("nav")?.style.setProperty("position", "static"));
      for (const section of await page.locator("section").all()) {
        const id = await section.getAttribute("id");
        await section.screenshot({ path: file(`${name}-${id}-${width}-${colorScheme}`) });
      }
      assert.deepEqual(await labels(page), []);
      assert.deepEqual(await pale(page), []);
      assert.deepEqual(await broken(page), []);
      assert.deepEqual(await beyond(page), []);
      assert.deepEqual(complaints, []);
      assert.notEqual(await page.title(), "owned");
      await close();
    });
  }
}

test("without scripts the answer, the tables and the still lanes are there", async () => {
  const { page, complaints, close } = await open("many", { javaScriptEnabled: false });
  assert.ok(await page.locator("#answer .verdict").isVisible());
  assert.ok(await page.locator("#lanes-still svg").isVisible());
  assert.ok(await page.locator("#scaling svg").first().isVisible());
  assert.ok(await page.locator("#tables table").first().isVisible());
  assert.deepEqual(complaints, []);
  await close();
});

test("no text of a hostile recording runs as a script or leaves its place", async () => {
  const { page, complaints, close } = await open("hostile");
  assert.equal(await page.locator("img, iframe, object, embed").count(), 0);
  assert.equal(await page.locator("[onerror], [onmouseover], [onfocus], [autofocus]").count(), 0);
  assert.ok(await page.locator("#run").isVisible(), "a comment or a style sheet would hide what follows");
  for (const cell of await page.locator("table.data th button").all()) await cell.click();
  await page.locator(".lanes .body canvas").hover();
  await page.locator("#flame canvas").hover();
  await page.locator("#flame-waits canvas").hover();
  await page.getByLabel("search the lanes").fill("<img");
  assert.notEqual(await page.title(), "owned");
  assert.deepEqual(complaints, []);
  await close();
});

/** Every pixel of the lanes, to see that something changed. */
const picture = (page) => page.locator(".lanes .body canvas").evaluate((canvas) => canvas.toDataURL());

test("the lanes zoom, pan, search, select and change the run", async () => {
  const { page, complaints, close } = await open("many");
  const canvas = page.locator(".lanes .body canvas");
  await canvas.scrollIntoViewIfNeeded();
  const frame = () => page.evaluate(() => new Promise((done) => setTimeout(done, 120)));
  await frame();
  const whole = await picture(page);
  await canvas.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("w");
  await frame();
  const near = await picture(page);
  assert.notEqual(near, whole, "w zooms in");
  await page.keyboard.press("d");
  await frame();
  assert.notEqual(await picture(page), near, "d pans");
  await page.screenshot({ path: file("many-zoomed") });
  for (let i = 0; i < 5; i++) await page.keyboard.press("w");
  await frame();
  await page.screenshot({ path: file("many-arrows") });
  await page.keyboard.press("0");
  await frame();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 400, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 600, box.y + 100, { steps: 4 });
  await page.mouse.up();
  const range = page.locator(".range");
  assert.ok(await range.isVisible(), "dragging selects a range");
  assert.match(await range.innerText(), /running, own code/);
  await page.screenshot({ path: file("many-range") });
  await range.getByRole("button", { name: "end the selection" }).click();
  assert.ok(!(await range.isVisible()));
  await page.getByLabel("search the lanes").fill("lock");
  await frame();
  assert.notEqual(await picture(page), whole, "matches stand out");
  await page.getByLabel("thread count", { exact: true }).selectOption({ label: "8 threads" });
  await frame();
  assert.notEqual(await picture(page), whole);
  assert.deepEqual(complaints, []);
  await close();
});

/** A recording served by knee. */
async function serve() {
  const knee = spawn(KNEE_BINARY, ["view", join(KNEE_PAGES, "recording")], { stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise((done, failed) => {
    let printed = "";
    knee.stdout.on("data", (bytes) => {
      printed += bytes;
      if (printed.includes("\n")) done(printed.trim());
    });
    knee.on("exit", (status) => failed(new Error(`knee view ended with ${status}`)));
  });
  const end = () => new Promise((done) => {
    knee.removeAllListeners("exit");
    knee.on("exit", done);
    knee.kill("SIGINT");
  });
  return { address, end };
}

test("a served page requests the data that it shows", async () => {
  const { address, end } = await serve();
  const { page, complaints, close } = await open("served", {}, address);
  const asked = [];
  page.on("response", async (response) => asked.push([response.url().slice(address.length), response.status()]));
  const canvas = page.locator(".lanes .body canvas");
  await canvas.scrollIntoViewIfNeeded();
  await canvas.focus();
  const frame = () => page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  await frame();
  const whole = await picture(page);
  for (let i = 0; i < 9; i++) await page.keyboard.press("w");
  await frame();
  const near = await picture(page);
  assert.notEqual(near, whole);
  const count = () => asked.filter(([what]) => what.startsWith("lanes?")).length;
  assert.ok(count() >= 1 && count() <= 9, `${count()} stretches for nine steps`);
  await page.screenshot({ path: file("served-zoomed") });
  // Data that the page already has are not requested again.
  const before = count();
  await page.keyboard.press("a");
  await frame();
  assert.notEqual(await picture(page), near, "a pans");
  assert.equal(count(), before);
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 400, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 600, box.y + 100, { steps: 4 });
  await page.mouse.up();
  await page.locator(".range").getByText("running, own code").waitFor();
  assert.ok(asked.some(([what]) => what.startsWith("sums?")), "sums of a stretch are the server's");
  await page.getByLabel("search the lanes").fill("page");
  await page.getByLabel("search the lanes").press("Enter");
  await frame();
  assert.ok(asked.some(([what]) => what.startsWith("find?")), "so are matches");
  assert.ok(asked.every(([, status]) => status === 200), JSON.stringify(asked));
  assert.deepEqual(complaints, []);
  await end();
  // The page has no detail of the run's beginning yet, so zooming there needs the server.
  await canvas.focus();
  for (const key of `0ww${"a".repeat(20)}wwwww`) await page.keyboard.press(key);
  await page.getByText("knee view does not answer any more").waitFor();
  await close();
});

test("a comparison is read without scripts, and its links lead to its cases", async () => {
  const { page, complaints, close } = await open("cases", { javaScriptEnabled: false });
  assert.equal(await page.locator("#curves svg").count(), 2);
  const links = await page.locator("#answer a").evaluateAll((all) => all.map((a) => a.href));
  assert.equal(links.length, 5);
  for (const link of links) assert.match(link, /^file:.*\/list[a-z-]*-\d\/report\.html$/);
  assert.deepEqual(complaints, []);
  await close();
});

test("tables are sorted and filtered, the flame graph zooms", async () => {
  const { page, complaints, close } = await open("many");
  const table = page.locator("#tables table.data", { has: page.getByRole("button", { name: "tid", exact: true }) });
  const first = () => table.locator("tbody tr:not([hidden]) td").nth(1).innerText();
  await table.getByRole("button", { name: "name", exact: true }).click();
  assert.equal(await first(), "worker 0");
  await table.getByRole("button", { name: "name", exact: true }).click();
  assert.equal(await first(), "worker 9");
  await page.getByLabel("filter threads").fill("worker 63");
  assert.equal(await table.locator("tbody tr:not([hidden])").count(), 1);
  const flame = page.locator("#flame canvas");
  const before = await flame.evaluate((canvas) => canvas.toDataURL());
  const box = await flame.boundingBox();
  await flame.click({ position: { x: box.width / 3, y: 19 * 2 + 8 } });
  await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
  assert.notEqual(await flame.evaluate((canvas) => canvas.toDataURL()), before);
  assert.deepEqual(complaints, []);
  await close();
});

test("the page of a single run has both flame graphs, and names what was waited for", async () => {
  const { page, complaints, close } = await open("alone");
  const titles = await page.locator("section h2").allInnerTexts();
  assert.deepEqual(titles, ["The answer", "Where the time went", "Threads over time", "Functions and call paths", "Locks, waits, system calls, threads", "The run"]);
  for (const [place, expected] of [["#flame", /of processor time/], ["#flame-waits", /of waiting/]]) {
    const canvas = page.locator(`${place} canvas`);
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    // One run has nothing to be compared with.
    assert.equal(await page.locator(`${place} select`).count(), 1);
    await canvas.hover({ position: { x: box.width / 2, y: 8 } });
    assert.match(await page.locator(`${place} .readout`).innerText(), expected);
  }
  // The object waited for is the innermost frame of a path, as wide as its time.
  const waits = page.locator("#flame-waits canvas");
  const box = await waits.boundingBox();
  const read = new Set();
  for (let y = 8; y < box.height; y += 19)
    for (const x of [0.2, 0.8]) {
      await waits.hover({ position: { x: box.width * x, y } });
      read.add(await page.locator("#flame-waits .readout").innerText());
    }
  assert.ok([...read].some((words) => words.startsWith("[lock]: 1.00 s of waiting, 50 %")), [...read].join("\n"));
  assert.deepEqual(complaints, []);
  await close();
});

/** Pixels of an A4 page's width between its margins. */
const PAPER = 718;

for (const name of pages.keys()) {
  test(`${name} on paper`, async () => {
    const { page, complaints, close } = await open(name, { viewport: { width: PAPER, height: 1016 } });
    await page.emulateMedia({ media: "print", colorScheme: "light" });
    // A browser that prints sends this event to the page.
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    await settled(page);
    assert.deepEqual(await labels(page), []);
    assert.deepEqual(await broken(page), []);
    const folded = await page.locator("details > :last-child").evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().height === 0).map((one) => one.textContent?.slice(0, 40)));
    assert.deepEqual(folded, [], "paper cannot be unfolded");
    const cut = await page.evaluate((paper) => [...document.querySelectorAll("section *")]
      .filter((one) => one.getBoundingClientRect().right > paper + 1 && one.getBoundingClientRect().width > 0)
      .map((one) => `${one.tagName} ${one.className} ${(one.textContent ?? "").slice(0, 40)}`), PAPER);
    assert.deepEqual(cut.slice(0, 5), [], "paper does not scroll");
    if ((await page.locator("#lanes").count()) > 0) {
      assert.ok(await page.locator("#lanes-still svg").isVisible(), "paper gets the still lanes");
      assert.ok(!(await page.locator(".tools").first().isVisible()));
    }
    await page.screenshot({ path: file(`${name}-print`), fullPage: true });
    await page.pdf({ path: file(name).replace(/png$/, "pdf"), format: "A4" });
    assert.deepEqual(complaints, []);
    await close();
  });
}
