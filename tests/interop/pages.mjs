// Looks at the pages below an address in a browser, at three widths, and in the dark with more contrast and less
// motion: errors, requests to other hosts, overflow, contrast, focus, axe-core's rules, the text without scripts, and
// whether operations can be tried out. Of pages of one kind (blocks, transactions, …) it looks at a few.
//
// Usage: pages.mjs BASE_URL, with PLAYWRIGHT, AXE, BROWSER, PROFILE and perhaps PICTURES in the environment.

import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const { PLAYWRIGHT, AXE, BROWSER, PROFILE, PICTURES } = process.env;
const axe = readFileSync(AXE, "utf8");
const { chromium } = createRequire(import.meta.url)(PLAYWRIGHT);
const base = new URL(process.argv[2]);

// Colours do not depend on the width, nor widths on the colours.
const VIEWS = { light: [375, 768, 1440], dark: [375] };
// Pages of one kind that are looked at: the chain has many.
const OF_A_KIND = 3;
const KINDS = /^\/(address|tx|block|block-height|entity|pool|search)(\/|\?|$)/;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
// What the demo may lack.
const ABSENT = ["node_unavailable", "mempool_unavailable", "mempool_syncing"];
// No transaction can be named that is unconfirmed for ever.
// Nobody has handed in, opened or been offered what the examples identify.
const UNKNOWN = {
  "/v1/mempool/tx/{txid}": "tx_not_found",
  "/v1/billing/checkout/{checkout_id}": "checkout_not_found",
  "/v1/community/reports/{report_id}/status": "report_not_found",
  "/v1/l402/challenges/{challenge_id}": "challenge_not_found",
  "/v1/timestamp/{hash_hex}": "timestamp_not_found",
  "/v1/timestamp/{hash_hex}/proof": "timestamp_not_found",
};
const mayFail = (path) => [...ABSENT, UNKNOWN[path]];
// Gains of a long history need a session, or are too long to compute: the page says so.
const mayBeRefused = (path) => path.endsWith("/pnl");
const isExpected = (status, path) => status === 200 || ([402, 503].includes(status) && mayBeRefused(path.split("?")[0]));

const faults = [];
const known = new Set();
/// Notes a fault of a page once, with the first of its views that has it.
const fault = (where, what) => {
  const name = `${where.replace(/ \(\d+ px, \w+\)/, "")}: ${what}`;
  if (faults.length < 100 && !known.has(name)) faults.push(`${where}: ${what}`);
  known.add(name);
};

/// What a page looks like, from within.
function inspect() {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const needed = document.documentElement.scrollWidth;
  if (needed > width) faults.push(`${needed} px wide on ${width}`);
  const scrolls = (element) => {
    for (let up = element; up && up !== document.body; up = up.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
    }
    return false;
  };
  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const name = (element) => `<${element.tagName.toLowerCase()}> ${(element.textContent || "").trim().slice(0, 40)}`;
  const [over, small, MAX_LISTED] = [[], [], 3];
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    const beyond = box.width > 0 && box.right > width + 1;
    // The first ones contain the others.
    if (beyond && over.length < MAX_LISTED && shown(element) && !scrolls(element)) over.push(`reaches over the edge: ${name(element)}`);
  }

  // Contrast (WCAG 2.1): 4.5, or 3 for large text.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const blend = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const luminance = (color) => {
    const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    // What lies below the whole page.
    if (!element) return rgba(matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#fff");
    return blend(rgba(getComputedStyle(element).backgroundColor), ground(element.parentElement));
  };
  const opacity = (element) => (element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1);
  let weakest = 21;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element || ["SCRIPT", "STYLE"].includes(element.tagName) || !shown(element)) continue;
    const style = getComputedStyle(element);
    const back = ground(element);
    const [r, g, b, a] = rgba(style.color);
    const both = [luminance(blend([r, g, b, a * opacity(element)], back)), luminance(back)];
    const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    weakest = Math.min(weakest, ratio);
    if (ratio < (large ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${name(element)}`);
    if (size < 12 && small.length < MAX_LISTED) small.push(`${size} px small: ${name(element)}`);
  }

  faults.push(...over, ...small);

  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`two elements have the id ${id}`);
  for (const [selector, count] of [["h1", 1], ["main", 1], ["head > title", 1], ["meta[name=viewport]", 1]]) {
    const found = document.querySelectorAll(selector).length;
    if (found !== count) faults.push(`${found} of ${selector}`);
  }
  if (!document.documentElement.lang) faults.push("no language");
  for (const input of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!input.labels.length && !input.ariaLabel) faults.push(`no label: ${input.name}`);
  }
  for (const control of document.querySelectorAll("button, input:not([type=hidden]), summary")) {
    const box = control.getBoundingClientRect();
    if (shown(control) && box.height < 24) faults.push(`${box.height} px high: ${name(control)} ${control.name || ""}`);
  }
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) faults.push(`from h${level} to h${next}: ${name(heading)}`);
    level = next;
  }
  // In drawings, `href` of a link is not a text.
  const links = [...document.querySelectorAll("a[href]")].map((a) => new URL(a.getAttribute("href"), document.baseURI).href);
  return { faults: [...new Set(faults)], weakest, links, ids };
}

/// The kind of a page: its path without the names in it.
function kindOf(path) {
  const [name, , ...rest] = path.split("?")[0].split("/").slice(1);
  return KINDS.test(path) ? [name, ...rest].join("/") : path.split("?")[0];
}

/// True for the first pages of a kind.
function isWanted(path) {
  const kind = kindOf(path);
  if (kind === path) return true;
  if (!kinds.has(kind)) kinds.set(kind, new Set());
  const known = kinds.get(kind);
  if (known.size < OF_A_KIND) known.add(path);
  return known.has(path);
}

/// Faults of axe-core that are serious or critical.
async function rules(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ["violations"] });
    return result.violations.filter((one) => ["serious", "critical"].includes(one.impact))
      .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  });
  for (const what of found) fault(where, `axe: ${what}`);
}

/// A page that reports errors, and requests to other hosts.
async function open(context, where) {
  const page = await context.newPage();
  page.on("console", (message) => {
    const isGate = mayBeRefused(new URL(message.location().url || base).pathname);
    const bad = ["error", "warning"].includes(message.type()) && !page.expectsErrors && !isGate;
    if (bad) fault(where(), `console: ${message.text()}`);
  });
  page.on("pageerror", (error) => fault(where(), `error: ${error.message}`));
  page.on("requestfailed", (request) => {
    // A page that is left ends its requests.
    const error = request.failure()?.errorText;
    if (error !== "net::ERR_ABORTED") fault(where(), `failed: ${request.url()} ${error}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.host !== base.host) fault(where(), `asks another host: ${url}`);
  });
  return page;
}

/// Every element that the keyboard reaches shows that it has been reached.
async function keyboard(page, where) {
  const seen = new Set();
  for (let at = 0; at < 60; at += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const style = getComputedStyle(element);
      const visible = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
      const all = [...document.querySelectorAll("*")];
      const name = `${element.tagName} ${(element.textContent || element.name || "").slice(0, 30)}`;
      return { at: all.indexOf(element), visible, name };
    });
    if (!found) break;
    if (!found.visible) fault(where, `focus is not visible: ${found.name}`);
    seen.add(found.at);
  }
  return seen.size;
}

/// Every form of the reference can be sent, by the keyboard alone, and shows status, headers and body.
async function tryOut(page, where) {
  page.expectsErrors = true;
  const forms = page.locator("form.try");
  const count = await forms.count();
  let succeeded = 0;
  for (let at = 0; at < count; at += 1) {
    const form = forms.nth(at);
    const path = await form.getAttribute("data-path");
    await form.locator("button").focus();
    await page.keyboard.press("Enter");
    const said = await shown(form);
    const status = Number(/^HTTP (\d{3})/m.exec(said)?.[1]);
    if (status === 200) succeeded += 1;
    else if (!mayFail(path).some((code) => said.includes(`"${code}"`))) fault(where, `trying ${path}: ${said.slice(0, 300)}`);
    const hasHeaders = ["content-type", "x-request-id"].every((header) => said.includes(`\n${header}: `));
    if (!hasHeaders) fault(where, `trying ${path}: no headers: ${said.slice(0, 300)}`);
    // JSON has a brace, the weekly report a heading; of an image nothing is shown as text.
    const hasText = said.includes("{") || (said.includes("text/markdown") && said.includes("\n# "));
    if (hasText === said.includes("image/")) fault(where, `trying ${path}: no body: ${said.slice(0, 300)}`);
    if (said.includes("image/")) {
      const width = await form.locator("img").evaluate((image) => image.decode().then(() => image.naturalWidth));
      if (!(width > 20)) fault(where, `trying ${path}: no picture`);
    }
  }
  // A path with parameters of both kinds, and an error with its fields.
  const form = page.locator('form.try[data-path="/v1/wallets/{address}/transactions"]');
  await form.locator('input[name="limit"]').fill("1");
  await form.locator("button").click();
  const one = await shown(form);
  const asked = /^GET \/v1\/wallets\/[^?]+\/transactions\?limit=1$/m.test(one) && one.includes('"limit": 1');
  if (!asked) fault(where, `path and query: ${one.slice(0, 300)}`);
  await form.locator('input[name="limit"]').fill("0");
  await form.locator('input[name="address"]').fill("not an address/?#%");
  await page.keyboard.press("Enter");
  const refused = await shown(form);
  const expected = ["HTTP 4", "application/problem+json", '"errors"', '"request_id"', "not%20an%20address%2F%3F%23%25"];
  for (const part of expected) {
    if (!refused.includes(part)) fault(where, `an error: no ${part} in ${refused.slice(0, 400)}`);
  }
  page.expectsErrors = false;
  return [count, succeeded];
}

async function shown(form) {
  const pre = form.locator("pre");
  await pre.waitFor({ state: "visible" });
  for (let wait = 0; wait < 200; wait += 1) {
    const said = await pre.innerText();
    if (!said.endsWith("…")) return said;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  return "no answer";
}

const launch = { executablePath: BROWSER, headless: true, args: FLAGS };
const browser = await chromium.launchPersistentContext(PROFILE, { ...launch, viewport: { width: 1440, height: 900 } });
const todo = ["/"];
const kinds = new Map();
const checked = new Map();
const status = new Map();
let weakest = 21;
let forms = [0, 0];
let stops = 0;
try {
  let where = "";
  const page = await open(browser, () => where);
  for (let path = todo.shift(); path; path = todo.shift()) {
    if (checked.has(path)) continue;
    const seen = { ids: [], places: [], text: "" };
    for (const [scheme, widths] of Object.entries(VIEWS)) {
      const asked = scheme === "dark" ? { contrast: "more", reducedMotion: "reduce" } : { contrast: null, reducedMotion: null };
      await page.emulateMedia({ colorScheme: scheme, ...asked });
      for (const width of widths) {
        where = `${path} (${width} px, ${scheme})`;
        await page.setViewportSize({ width, height: width < 600 ? 812 : 900 });
        // It is read once in each scheme. Other widths lay out the same page again.
        if (width === widths[0]) {
          const answer = await page.goto(new URL(path, base).href);
          if (!isExpected(answer.status(), path)) fault(where, `status ${answer.status()}`);
          if (scheme === "light") seen.text = await page.evaluate(textOf);
        }
        if (PICTURES) await picture(page, path, `${width}-${scheme}`);
        // What is folded up is part of the page.
        await fold(page, false);
        const found = await page.evaluate(inspect);
        for (const what of found.faults) fault(where, what);
        weakest = Math.min(weakest, found.weakest);
        seen.ids.push(...found.ids);
        for (const link of found.links) {
          const url = new URL(link);
          if (url.host !== base.host) { fault(where, `links to another host: ${link}`); continue; }
          const target = url.pathname + url.search;
          if (url.hash) seen.places.push(link);
          if (!status.has(target) && isWanted(target)) {
            const reply = await browser.request.get(url.href, { maxRedirects: 0 });
            const type = reply.headers()["content-type"] || "";
            status.set(target, reply.status());
            const leads = [302, 303, 307, 308].includes(reply.status());
            if (!isExpected(reply.status(), target) && !leads) fault(where, `links to ${link}: ${reply.status()}`);
            const place = leads ? new URL(reply.headers().location, url) : url;
            if (type.startsWith("text/html") || leads) todo.push(place.pathname + place.search);
          }
        }
        const isLast = width === widths.at(-1);
        if (scheme === "light" && isLast) stops += await keyboard(page, where);
        if (isLast) await rules(page, where);
        if (path === "/api/reference/" && scheme === "light" && isLast) {
          forms = await tryOut(page, where);
          for (const narrow of widths) {
            await page.setViewportSize({ width: narrow, height: 900 });
            const after = await page.evaluate(inspect);
            for (const what of after.faults) fault(`${path} (${narrow} px, with answers)`, what);
            if (PICTURES) {
              for (const tried of ["wallet_transactions", "qr_code"]) {
                await page.locator(`#${tried}`).screenshot({ path: join(PICTURES, `${tried}-${narrow}.png`) });
              }
            }
          }
        }
        if (PICTURES) await fold(page, true);
      }
    }
    checked.set(path, seen);
  }
  // Links to a place on a page lead to one.
  for (const [path, { places }] of checked) {
    for (const link of new Set(places)) {
      const url = new URL(link);
      const ids = checked.get(url.pathname + url.search)?.ids;
      if (ids && !ids.includes(decodeURIComponent(url.hash.slice(1)))) fault(path, `links to ${link}, which is not there`);
    }
  }
  // Without scripts the same can be read.
  const plain = await chromium.launch(launch);
  const context = await plain.newContext({ javaScriptEnabled: false, viewport: { width: 375, height: 812 } });
  const still = await open(context, () => where);
  for (const [path, { text }] of checked) {
    where = `${path} (no scripts)`;
    await still.goto(new URL(path, base).href);
    const without = (await still.locator("main").innerText()).replace(/\s+/g, " ").trim();
    if (without !== text) fault(where, `the text is not the same: ${difference(without, text)}`);
    if (without.length < 80) fault(where, "next to nothing to read");
  }
  await plain.close();
} finally {
  await browser.close();
}

/// Opens all that is folded up, or folds it.
async function fold(page, closed) {
  await page.evaluate((open) => { for (const details of document.querySelectorAll("details")) details.open = open; }, !closed);
}

/// The text of a page as it is first read, without the forms that scripts add.
function textOf() {
  const forms = [...document.querySelectorAll("form.try")];
  for (const form of forms) form.hidden = true;
  const text = document.querySelector("main").innerText.replace(/\s+/g, " ").trim();
  for (const form of forms) form.hidden = false;
  return text;
}

/// The place at which two texts differ.
function difference(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return `"${one.slice(at, at + 60)}" and "${other.slice(at, at + 60)}"`;
}

async function picture(page, path, suffix) {
  mkdirSync(PICTURES, { recursive: true });
  const name = path.replaceAll("/", "_").replace(/^_$/, "_start");
  const whole = await page.evaluate(() => document.documentElement.scrollHeight);
  const clip = { x: 0, y: 0, width: page.viewportSize().width, height: Math.min(whole, 6000) };
  await page.screenshot({ path: join(PICTURES, `${name}-${suffix}.png`), fullPage: true, clip });
}

const views = Object.entries(VIEWS).map(([scheme, widths]) => `${widths.join(", ")} px ${scheme}`).join(", ");
console.log(`pages: ${checked.size} pages at ${views}, `
  + `${status.size} links, weakest contrast ${weakest.toFixed(1)}, ${stops} stops of the keyboard, `
  + `${forms[0]} forms tried, ${forms[1]} answered with data`);
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
