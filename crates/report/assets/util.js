// Elements and numbers. Texts go into the page as text nodes only, never as markup.

/**
 * An element with attributes and children; a string child becomes a text node.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | EventListener>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * A length of time with three digits.
 * @param {number} ns nanoseconds
 */
function time(ns) {
  if (ns === 0) return "0";
  const size = Math.abs(ns);
  const [factor, unit] = size >= 999.5e6 ? [1e9, "s"] : size >= 999.5e3 ? [1e6, "ms"] : size >= 999.5 ? [1e3, "µs"] : [1, "ns"];
  return `${digits(ns / factor)} ${unit}`;
}

/**
 * Three significant digits, no exponent.
 * @param {number} value
 */
function digits(value) {
  if (value === 0) return "0";
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)) + 1e-9));
  return value.toFixed(Math.min(places, 6)).replace("-", "−");
}

/** @param {number} share */
function percent(share) {
  const of100 = share * 100;
  return of100 > 0 && of100 < 0.5 ? "<1 %" : `${Math.round(of100)} %`;
}

/**
 * @param {number} count
 * @param {string} word
 */
function plural(count, word) {
  return count === 1 ? `1 ${word}` : `${count} ${word}s`;
}

/**
 * A name that may break after the dividers of its parts.
 * @param {string} name
 * @returns {(string | Node)[]}
 */
function breakable(name) {
  return name.split(/(?<=[^\s_/,<=:-][_/,<=-]|::)(?=\w)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

/** Colours of the style sheet, read again when the reader changes from light to dark. */
const colours = {
  /** @type {Map<string, string>} */
  known: new Map(),
  /** @param {string} name */
  of(name) {
    let colour = this.known.get(name);
    if (colour === undefined) {
      colour = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
      this.known.set(name, colour);
    }
    return colour;
  },
};

/**
 * Red, green and blue of `#rrggbb`, 0 to 1.
 * @param {string} colour
 */
function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
}

/**
 * How bright a colour is (WCAG 2.2, relative luminance).
 * @param {number[]} rgb
 */
function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
}

/**
 * Dark or light, whichever is read better on a colour that lies over the ground.
 * @param {string} key
 * @param {number} alpha
 */
function inkOn(key, alpha) {
  const [over, ground] = [channels(colours.of(key)), channels(colours.of("ground"))];
  const behind = luminance(over.map((c, i) => c * alpha + (ground[i] ?? 0) * (1 - alpha)));
  const dark = colours.of("on-fill");
  const contrast = (/** @type {number} */ a, /** @type {number} */ b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  return contrast(luminance(channels(dark)), behind) >= contrast(1, behind) ? dark : "#ffffff";
}

/**
 * A canvas as large as its place, in device pixels; drawing is in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no canvas");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  return context;
}

/**
 * Calls at most once a frame.
 * @param {() => void} draw
 */
function onFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/**
 * The text, cut to a width.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} width
 */
function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}
