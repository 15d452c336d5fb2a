// Shared by the browser tests: the pages, the browser, and the checks that every page must pass.
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

/** Opens a page, as a file from disk unless an address is given. `complaints` gets its errors and any request to elsewhere. */
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
    // A file may request only itself; a served page only its server.
    const own = address.startsWith("file:") ? request.url() === address : request.url().startsWith(address);
    if (!own) complaints.push(`request: ${request.url().slice(0, 100)}`);
  });
  await page.goto(address);
  await page.waitForLoadState("load");
  return { page, complaints, close: () => context.close() };
}

/** Waits for two frames: whatever is drawn in the next one is then visible. */
export const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Faults in the texts of the drawings: texts that leave their drawing, or cover each other. */
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

/** Waits until the page keeps its height: lanes and call paths get theirs when they are drawn. */
export async function settled(page) {
  await page.evaluate(async () => {
    let [height, same] = [-1, 0];
    while (same < 6) {
      await new Promise((done) => requestAnimationFrame(done));
      const now = document.documentElement.scrollHeight;
      same = now === height ? same + 1 : 0;
      height = now;
    }
  });
}

/** Texts with too little contrast to their background: WCAG 2.2, 1.4.3. */
export const pale = (page) => page.evaluate(() => {
  const parts = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const bright = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const [r, g, b, alpha = 1] = parts(getComputedStyle(one).backgroundColor);
      if (r !== undefined && alpha > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const wrong = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const words = (node.textContent ?? "").trim();
    if (!element || !words || ["SCRIPT", "STYLE", "TITLE", "title"].includes(element.tagName) || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const text = element.tagName === "text";
    // The text on a piece of a drawing follows that piece in the document.
    const piece = element.matches(".share:not(.on-hatch), .field-text") ? element.previousElementSibling : null;
    const [r, g, b] = parts(text ? style.fill : style.color);
    const behind = piece ? parts(getComputedStyle(piece).fill) : ground(element);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const found = contrast(bright([r, g, b]), bright(behind));
    if (found < (large ? 3 : 4.5)) wrong.add(`${found.toFixed(1)}: ${element.tagName}.${element.className.baseVal ?? element.className} “${words.slice(0, 40)}”`);
  }
  return [...wrong];
});

/** Words of titles, and numbers, that are broken over two lines. */
export const broken = (page) => page.evaluate(() => {
  const wrong = [];
  for (const cell of document.querySelectorAll("th:not(.case):not([scope=row]), td.n")) {
    if (!cell.checkVisibility()) continue;
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const word of (node.textContent ?? "").matchAll(/\S+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].filter((one) => one.width > 0).map((one) => Math.round(one.top)));
        if (lines.size > 1) wrong.push(`“${word[0]}” in ${cell.closest(".scroll")?.getAttribute("aria-label")}`);
      }
    }
  }
  return wrong;
});

/** Elements beyond the right edge that cannot be scrolled to, and tables of cards that would have to be scrolled. */
export const beyond = (page) => page.evaluate(() => {
  const wrong = [];
  const edge = document.documentElement.clientWidth;
  const scrolls = (element) => element.closest(".scroll, .bars, #lanes-still, .source-lines, nav ul");
  for (const one of document.querySelectorAll("header *, section *, footer *")) {
    const box = one.getBoundingClientRect();
    if (box.width > 0 && box.right > edge + 1 && !scrolls(one)) wrong.push(`${one.tagName} ${one.className.baseVal ?? one.className} “${(one.textContent ?? "").slice(0, 40)}”`);
  }
  if (matchMedia("(max-width: 640px)").matches)
    for (const table of document.querySelectorAll(".scroll > .cards, .scroll > .evidence")) {
      const place = table.parentElement;
      if (place.scrollWidth > place.clientWidth + 1) wrong.push(`table ${place.getAttribute("aria-label")} is ${place.scrollWidth} pixels wide`);
    }
  return wrong;
});
