// What the browser's tests share: the pages, the browser, and what must hold of every page.
//
// KNEE_PAGES is the folder of the pages, KNEE_PICTURES the one for the pictures, KNEE_MODULES where playwright-core is,
// KNEE_CHROMIUM the browser, KNEE_BINARY knee: see `./dev browser`.
import { createRequire } from "node:module";
import { mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before } from "node:test";

export const { KNEE_PAGES, KNEE_PICTURES, KNEE_BINARY } = process.env;
const { KNEE_MODULES, KNEE_CHROMIUM } = process.env;
for (const [name, value] of Object.entries({ KNEE_PAGES, KNEE_PICTURES, KNEE_MODULES, KNEE_CHROMIUM, KNEE_BINARY })) {
  if (!value) throw new Error(`${name} is not set: run ./dev browser`);
}
const { chromium } = createRequire(join(resolve(KNEE_MODULES), "x.js"))("playwright-core");
mkdirSync(KNEE_PICTURES, { recursive: true });

/** Files of the pages by name: `many.html` is `many`, `list/list-p/report.html` is `list/list-p`. @type {Map<string, string>} */
export const pages = new Map(
  readdirSync(KNEE_PAGES, { recursive: true }).filter((file) => file.endsWith(".html")).sort()
    .map((file) => [file.replace(/(\/report)?\.html$/, ""), resolve(KNEE_PAGES, file)]));

/** Where a picture goes. */
export const picture = (name) => join(KNEE_PICTURES, `${name.replaceAll("/", "-")}.png`);

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: KNEE_CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser?.close());

/** Opens a page, as a file from disk unless an address is given; whatever it complains of or asks elsewhere for is told. */
export async function open(name, options = {}, address = `file://${pages.get(name)}`) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(error.stack ?? String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    // A file asks for nothing but itself; a served page asks its server.
    const own = address.startsWith("file:") ? request.url() === address : request.url().startsWith(address);
    if (!own) complaints.push(`request: ${request.url().slice(0, 100)}`);
  });
  await page.goto(address);
  await page.waitForLoadState("load");
  return { page, complaints, close: () => context.close() };
}

/** Two frames: what is drawn at the next one is there. */
export const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** What is wrong with the texts of the drawings: they leave their drawing, or cover each other. */
export const labels = (page) => page.evaluate(() => {
  const wrong = [];
  for (const drawing of document.querySelectorAll("svg.chart")) {
    const frame = drawing.getBoundingClientRect();
    if (frame.width === 0) continue;
    const seen = [];
    for (const text of drawing.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const words = (text.textContent ?? "").slice(0, 40);
      // A box of text has room above and below its letters.
      const high = box.height * 0.2;
      const own = { left: box.left, right: box.right, top: box.top + high, bottom: box.bottom - high, words };
      if (own.left < frame.left - 1 || own.right > frame.right + 1 || own.top < frame.top - 1 || own.bottom > frame.bottom + 1)
        wrong.push(`“${words}” leaves ${drawing.getAttribute("aria-label")?.slice(0, 60)}`);
      for (const other of seen)
        if (own.left < other.right - 1 && other.left < own.right - 1 && own.top < other.bottom - 1 && other.top < own.bottom - 1)
          wrong.push(`“${words}” covers “${other.words}” in ${drawing.getAttribute("aria-label")?.slice(0, 60)}`);
      seen.push(own);
    }
  }
  return wrong;
});
