// Pages of each kind in Firefox, driven by WebDriver BiDi, at three widths: nothing on the console, no request to
// another host, and nothing wider than the window.
//
// Usage: firefox.mjs BASE_URL, with PUPPETEER (the folder of the package) and FIREFOX in the environment.

import { pathToFileURL } from "node:url";
import { join } from "node:path";

const { PUPPETEER, FIREFOX } = process.env;
const { default: puppeteer } = await import(pathToFileURL(join(PUPPETEER, "lib/puppeteer/puppeteer-core.js")).href);
const base = new URL(process.argv[2]);

const WIDTHS = [375, 768, 1440];
// Kinds of pages: the first page of each kind that another page links is opened.
const KINDS = [/^\/block\/[^/]+$/, /^\/address\/[^/]+$/, /^\/tx\/[^/]+$/, /^\/entity\/[^/]+$/, /^\/pool\/[^/]+$/,
  /^\/address\/[^/]+\/[a-z]+$/, /^\/blocks$/, /^\/wallet$/, /^\/tx\/push$/, /^\/api\/reference\/?$/];

const faults = [];
const fault = (where, what) => { if (faults.length < 50) faults.push(`${where}: ${what}`); };
let where = "";

const browser = await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX, headless: true });
const opened = new Set();
const version = await browser.version();
try {
  const page = await browser.newPage();
  page.on("console", (message) => {
    if (["error", "warn", "warning"].includes(message.type())) fault(where, `console: ${message.text()}`);
  });
  page.on("pageerror", (error) => fault(where, `error: ${error.message}`));
  page.on("requestfailed", (request) => {
    // A page that is left ends its requests.
    const error = request.failure()?.errorText;
    if (error !== "NS_BINDING_ABORTED") fault(where, `failed: ${request.url()} ${error}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.host !== base.host) fault(where, `asks another host: ${url}`);
  });
  const todo = ["/"];
  const kinds = new Set();
  for (let path = todo.shift(); path; path = todo.shift()) {
    if (opened.has(path)) continue;
    opened.add(path);
    for (const width of WIDTHS) {
      where = `${path} (${width} px)`;
      await page.setViewport({ width, height: width < 600 ? 812 : 900 });
      const answer = await page.goto(new URL(path, base).href, { waitUntil: "load", timeout: 30_000 });
      // It asks again for a page that it has.
      if (answer && ![200, 304].includes(answer.status())) fault(where, `status ${answer.status()}`);
      const found = await page.evaluate(() => {
        for (const details of document.querySelectorAll("details")) details.open = true;
        const root = document.documentElement;
        return {
          window: root.clientWidth,
          needed: root.scrollWidth,
          // In drawings, `href` of a link is not a text.
          links: [...document.querySelectorAll("a[href]")].map((link) => new URL(link.getAttribute("href"), document.baseURI).href),
          text: document.querySelector("main")?.innerText.length ?? 0,
        };
      });
      if (found.needed > found.window) fault(where, `${found.needed} px wide on ${found.window}`);
      if (found.text < 80) fault(where, "next to nothing to read");
      for (const link of found.links) {
        const url = new URL(link);
        if (url.host !== base.host) continue;
        const kind = KINDS.find((one) => one.test(url.pathname));
        // Of the pages of an address each tab is a kind of its own.
        const name = kind && (kind.source.includes("[a-z]+") ? url.pathname.split("/").pop() : kind.source);
        if (name && !kinds.has(name)) {
          kinds.add(name);
          todo.push(url.pathname);
        }
      }
    }
  }
} finally {
  await browser.close();
}
console.log(`firefox: ${opened.size} pages at ${WIDTHS.join(", ")} px in ${version}`);
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
