// How the pages of the kept recordings read on a telephone, a notebook and a large screen: nothing covers anything else,
// nothing is cut, nothing is said twice, and no text is about something that is no longer shown.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { frames, KNEE_BINARY, KNEE_PICTURES, open, pages, picture, settled } from "./harness.mjs";

const WIDTHS = [390, 1440, 1920];
// Without animated scrolling: elements must not move while they are measured.
const at = (width, options = {}) => ({ viewport: { width, height: 900 }, reducedMotion: "reduce", ...options });

/** Scrolls to the lanes, below the table of contents, and returns them when they are drawn. */
async function lanesOn(page) {
  const canvas = page.locator(".lanes .body canvas");
  await canvas.waitFor();
  await settled(page);
  await page.locator("#lanes-view").evaluate((view) => view.scrollIntoView());
  await frames(page);
  return { canvas, box: await canvas.boundingBox() };
}

/** Selects the middle of the run, and returns the panel about it. */
async function selectMiddle(page) {
  const { box } = await lanesOn(page);
  await page.mouse.move(box.x + box.width * 0.45, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 60, { steps: 4 });
  await page.mouse.up();
  const range = page.locator(".range");
  await range.locator("table").first().waitFor();
  await frames(page);
  return range;
}

/** Texts that cover each other or leave their place, by the boxes of their lines; null for a page that scrolls instead. */
const collisions = (place) => place.evaluate((panel) => {
  const wrong = [];
  const frame = panel.getBoundingClientRect();
  const seen = [];
  const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const words = (node.textContent ?? "").trim();
    if (!words) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      // A line is higher than its letters.
      const high = box.height * 0.2;
      const own = { left: box.left, right: box.right, top: box.top + high, bottom: box.bottom - high, words: words.slice(0, 40), node };
      if (own.right > frame.right + 0.5 || own.left < frame.left - 0.5) wrong.push(`“${own.words}” leaves its place by ${Math.round(own.right - frame.right)} pixels`);
      for (const other of seen)
        if (other.node !== node && own.left < other.right - 1 && other.left < own.right - 1 && own.top < other.bottom - 1 && other.top < own.bottom - 1)
          wrong.push(`“${own.words}” covers “${other.words}”`);
      seen.push(own);
    }
  }
  return wrong;
});

for (const name of ["birthday", "pagesum", "goroutines", "many"]) {
  for (const width of WIDTHS) {
    test(`a selection of ${name} is read at ${width} pixels`, async () => {
      const { page, complaints, close } = await open(name, at(width));
      const range = await selectMiddle(page);
      await range.scrollIntoViewIfNeeded();
      await page.screenshot({ path: picture(`${name}-selection-${width}`) });
      assert.deepEqual(await collisions(range), []);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      // Waits with the same name are one row, whichever thread ends them.
      const waits = range.locator(".columns > div", { has: page.getByRole("heading", { name: "Waits" }) });
      const rows = await waits.locator("td.what").allInnerTexts();
      assert.ok(rows.length > 0);
      assert.deepEqual([...new Set(rows)], rows, "no row twice");
      assert.deepEqual(complaints, []);
      await close();
    });
  }
}

test("the line below the lanes is about what is shown", async () => {
  const { page, complaints, close } = await open("birthday", at(1440));
  const { box } = await lanesOn(page);
  const readout = page.locator("#lanes-view .readout");
  const point = async (x) => {
    await page.mouse.move(box.x + box.width * x, box.y + 52);
    await frames(page);
    return readout.innerText();
  };
  const first = await point(0.4);
  assert.match(first, /^birthday \d+ at .* · /);
  const search = page.getByLabel("search the lanes");
  // By the keyboard, because the mouse would leave the lanes on its way to the field.
  await search.focus();
  await search.pressSequentially("lock");
  await frames(page);
  assert.equal(await readout.innerText(), "", "a search clears the line");
  assert.notEqual(await point(0.5), "");
  await search.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await frames(page);
  const afterJump = await readout.innerText();
  await page.mouse.move(box.x + box.width * 0.5 + 1, box.y + 52);
  await frames(page);
  // The line after a jump is the same as when the mouse points there again.
  if (afterJump) assert.equal(afterJump.split(" at ")[0], (await readout.innerText()).split(" at ")[0]);
  await page.getByLabel("zoom in (w)").click();
  await frames(page);
  assert.equal(await readout.innerText(), "", "so does a zoom");
  await point(0.5);
  await page.getByLabel("thread count", { exact: true }).selectOption({ label: "4 threads" });
  await frames(page);
  assert.equal(await readout.innerText(), "", "and so does another run");
  assert.deepEqual(complaints, []);
  await close();
});

/** Pixels of the lanes by colour of the style sheet. */
const coloured = (page, keys) => page.locator(".lanes .body canvas").evaluate((canvas, keys) => {
  const style = getComputedStyle(document.documentElement);
  const wanted = new Map(keys.map((key) => [style.getPropertyValue(`--${key}`).trim().toLowerCase(), key]));
  const found = Object.fromEntries(keys.map((key) => [key, 0]));
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) {
    const key = wanted.get(`#${[data[i], data[i + 1], data[i + 2]].map((c) => c.toString(16).padStart(2, "0")).join("")}`);
    if (key) found[key]++;
  }
  return found;
}, keys);

// According to their accounts, threads of these recordings that contend for a lock or spin are on a processor much of the time.
for (const [name, key, share, label] of [["birthday", "sync", 0.25, "running, lock and futex code"], ["wavefront", "spin", 0.5, "running, spinning"]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`${name}: a thread that runs without progress has a colour of its own at every zoom, ${colorScheme}`, async () => {
      const { page, complaints, close } = await open(name, at(1440, { colorScheme }));
      const { canvas, box } = await lanesOn(page);
      await canvas.focus();
      for (let zoom = 0; zoom < 8; zoom += 2) {
        await page.waitForTimeout(150);
        const found = await coloured(page, [key, "user", "unsampled"]);
        const all = found[key] + found.user + found.unsampled;
        assert.ok(all > 0 && found[key] / all > share, `after ${zoom} steps: ${JSON.stringify(found)}`);
        await page.keyboard.press("w");
        await page.keyboard.press("w");
      }
      await page.keyboard.press("0");
      // In words too.
      const read = new Set();
      for (let y = 30; y < box.height && !read.has(label); y += 10) {
        for (let x = 0.3; x < 0.7; x += 0.05) {
          await page.mouse.move(box.x + box.width * x, box.y + y);
          await frames(page);
          read.add((await page.locator("#lanes-view .readout").innerText()).split(" · ")[1]?.split(":")[0]);
        }
      }
      assert.ok(read.has(label), [...read].join("\n"));
      assert.ok(await page.locator(".lanes-legend").getByText(label).isVisible());
      // Without any colour: a line through the bar.
      assert.ok((await page.locator("#lanes-still .l-struck").count()) > 0);
      // The test's own reading of pixels is what the browser finds slow.
      assert.deepEqual(complaints.filter((one) => !one.includes("getImageData")), []);
      await close();
    });
  }
}

test("a search in a flame graph shows the share of its matches", async () => {
  const { page, complaints, close } = await open("birthday", at(1440));
  const index = JSON.parse(await page.locator("#index").textContent());
  const run = index.runs.findIndex((one) => one.threads === index.focus);
  const whole = index.flame[0][2 + run];
  const found = (wanted) => {
    const inside = new Set();
    let sum = 0;
    index.flame.forEach((node, i) => {
      const matches = index.names[node[1]].includes(wanted);
      if (inside.has(node[0])) inside.add(i);
      else if (matches) [sum] = [sum + node[2 + run], inside.add(i)];
    });
    return Math.round((100 * sum) / whole);
  };
  const search = page.getByLabel("search the flame graph", { exact: true });
  const readout = page.locator("#flame .readout");
  await page.locator("#flame").scrollIntoViewIfNeeded();
  await page.locator("#flame canvas").hover();
  for (const wanted of ["rand", "simulate"]) {
    await search.fill(wanted);
    await frames(page);
    assert.ok(found(wanted) > 5, `${found(wanted)}`);
    assert.match(await readout.innerText(), new RegExp(`^Matched: .*, ${found(wanted)} % of all processor time, on \\d+ call path`));
  }
  await search.fill("no such function");
  await frames(page);
  assert.equal(await readout.innerText(), "No match in all processor time.");
  await search.fill("");
  await frames(page);
  assert.match(await readout.innerText(), /^Point at a call path/);
  assert.deepEqual(complaints, []);
  await close();
});

for (const width of WIDTHS) {
  test(`lanes and flame graphs use the width of ${width} pixels, and the table of contents follows`, async () => {
    const { page, complaints, close } = await open("birthday", at(width));
    const { box } = await lanesOn(page);
    assert.ok(box.x >= 0 && box.width > 0.9 * width && box.x + box.width <= width, JSON.stringify(box));
    const [cpu, waits] = [await page.locator("#flame").boundingBox(), await page.locator("#flame-waits").boundingBox()];
    if (width > 1000) {
      assert.equal(Math.round(cpu.y), Math.round(waits.y), "beside each other");
      assert.ok(cpu.x + cpu.width <= waits.x && waits.x + waits.width <= width);
      assert.ok(cpu.width > 0.42 * width && waits.width > 0.42 * width, JSON.stringify([cpu, waits]));
    } else {
      assert.ok(cpu.y + cpu.height <= waits.y, "below each other");
    }
    for (const id of ["account", "lanes", "grew", "run"]) {
      await page.evaluate((id) => document.getElementById(id)?.scrollIntoView(), id);
      await frames(page);
      await frames(page);
      const nav = await page.locator("nav").boundingBox();
      assert.ok(Math.abs(nav.y) < 1, `${id}: contents at ${nav.y}`);
      const current = page.locator("nav a[aria-current]");
      assert.equal(await current.count(), 1);
      assert.equal(await current.getAttribute("href"), `#${id}`);
      const link = await current.boundingBox();
      assert.ok(link.x >= 0 && link.x + link.width <= width, `${id}: its name is in view`);
      const title = await page.locator(`#${id} h2`).boundingBox();
      if (id !== "run") assert.ok(title.y >= nav.height - 1, `${id}: the contents cover no title`);
    }
    assert.deepEqual(complaints, []);
    await close();
  });
}

test("the first number is for the thread count of the first sentence", async () => {
  let both = 0;
  for (const name of pages.keys()) {
    const { page, close } = await open(name);
    const said = /\bwith (\d+) (?:threads?|processors?)/i.exec((await page.locator("#answer .verdict").first().innerText().catch(() => "")) ?? "");
    const tile = page.locator("#answer .facts dt").first();
    if (said && (await tile.count()) > 0) {
      assert.match(await tile.innerText(), new RegExp(`^speed-up with ${said[1]} `), name);
      both++;
    }
    await close();
  }
  assert.ok(both >= 4, `${both} pages have both`);
});

test("the answer as one picture is whole, and no texts in it overlap", async () => {
  for (const name of ["birthday", "pagesum", "goroutines", "birthday-repaired"]) {
    const file = resolve(join(KNEE_PICTURES, `${name}-card.svg`));
    const made = spawnSync(KNEE_BINARY, ["report", join("fixtures", name), "--card", file]);
    assert.equal(made.status, 0, String(made.stderr));
    const { page, complaints, close } = await open(name, at(960), `file://${file}`);
    const wrong = await page.evaluate(() => {
      const wrong = [];
      const frame = document.documentElement.getBoundingClientRect();
      const seen = [];
      for (const text of document.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        const [top, bottom] = [box.top + box.height * 0.2, box.bottom - box.height * 0.2];
        if (box.left < frame.left + 8 || box.right > frame.right - 8 || bottom > frame.bottom - 8) wrong.push(`“${text.textContent}” leaves the picture`);
        for (const other of seen)
          if (box.left < other.right - 1 && other.left < box.right - 1 && top < other.bottom - 1 && other.top < bottom - 1) wrong.push(`“${text.textContent}” covers “${other.words}”`);
        seen.push({ left: box.left, right: box.right, top, bottom, words: text.textContent });
      }
      return { wrong, texts: seen.length };
    });
    assert.deepEqual(wrong.wrong, []);
    assert.ok(wrong.texts > 5);
    await page.screenshot({ path: picture(`${name}-card`) });
    assert.deepEqual(complaints, []);
    await close();
  }
});
