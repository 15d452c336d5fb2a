// How fast a page with 64 threads and 10 million slices is in a real browser: `./dev large`.
//
// KNEE_PAGE is the page, KNEE_RECORDING the recording for `knee view`, KNEE_MODULES where playwright-core is, KNEE_CHROMIUM
// the browser, KNEE_BINARY knee. Prints numbers; they depend on the machine, so nothing is asserted but that there are some.
import { createRequire } from "node:module";
import { spawn } from "node:child_process";
import { join, resolve } from "node:path";

const { KNEE_PAGE, KNEE_RECORDING, KNEE_MODULES, KNEE_CHROMIUM, KNEE_BINARY } = process.env;
const { chromium } = createRequire(join(resolve(KNEE_MODULES), "x.js"))("playwright-core");
const ROUNDS = 5;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Zooms in and out again around the middle of the lanes, a step a frame, and returns the times between frames. */
function zoom() {
  const canvas = [...document.querySelectorAll(".lanes canvas")].at(-1);
  const box = canvas.getBoundingClientRect();
  const wheel = (deltaY) =>
    canvas.dispatchEvent(
      new WheelEvent("wheel", { deltaY, ctrlKey: true, bubbles: true, cancelable: true, clientX: box.x + box.width / 2, clientY: box.y + 100 })
    );
  return new Promise((done) => {
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      if (times.length > 180) return done(times.slice(1));
      wheel(times.length <= 90 ? -100 : 100);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}

async function measure(browser, what, address) {
  const pictures = [], rates = [], slowest = [];
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const begin = performance.now();
    await page.goto(address, { waitUntil: "commit" });
    await page.locator(".lanes canvas").last().waitFor();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    pictures.push(performance.now() - begin);
    await page.locator(".lanes canvas").last().scrollIntoViewIfNeeded();
    const times = await page.evaluate(zoom);
    rates.push((1000 * times.length) / times.reduce((sum, time) => sum + time, 0));
    slowest.push(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)]);
    await context.close();
  }
  const range = (values, digits) => `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`;
  console.log(`${what}: lanes drawn after ${range(pictures, 0)} ms (goal 1000); zooming ${range(rates, 1)} frames a second (goal 30), of 20 frames the slowest takes ${range(slowest, 0)} ms`);
}

const browser = await chromium.launch({ executablePath: KNEE_CHROMIUM, args: ["--no-sandbox"] });
await measure(browser, "file", `file://${resolve(KNEE_PAGE)}`);
const view = spawn(KNEE_BINARY, ["view", KNEE_RECORDING], { stdio: ["ignore", "pipe", "ignore"] });
const begin = performance.now();
const address = await new Promise((done, fail) => {
  let text = "";
  view.stdout.on("data", (part) => {
    text += part;
    if (text.includes("\n")) done(text.trim());
  });
  view.on("exit", () => fail(new Error("knee view has ended")));
});
console.log(`knee view is ready after ${((performance.now() - begin) / 1000).toFixed(1)} s`);
await measure(browser, "knee view", address);
view.kill();
await browser.close();
