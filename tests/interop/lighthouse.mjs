// Lighthouse on pages of each kind, with its settings for desks: the median of several runs by category, and each audit
// that fails, with the elements that it names.
//
// Usage: lighthouse.mjs BASE_URL RUNS, with LIGHTHOUSE, LAUNCHER (folders of the packages) and CHROME_PATH in the
// environment, and API, the server of the API, if the pages are those of the preview.

import { pathToFileURL } from "node:url";
import { join } from "node:path";

const { LIGHTHOUSE, LAUNCHER, API } = process.env;
const load = (folder, file) => import(pathToFileURL(join(folder, file)).href);
const { default: lighthouse, desktopConfig } = await load(LIGHTHOUSE, "core/index.js");
const { launch } = await load(LAUNCHER, "dist/index.js");
const base = new URL(process.argv[2]);
const runs = Number(process.argv[3]);

const CATEGORIES = ["performance", "accessibility", "best-practices"];
const LEAST = 95;
const FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic"];

const api = async (path) => (await fetch(new URL(path, API || base))).json();
const { members } = await api("/v1/entities/cairn-exchange");
const { address } = members.find((member) => member.address);
const { last_seen: { txid } } = await api(`/v1/wallets/${address}/overview`);
const pages = {
  home: "/",
  block: "/block/2800",
  address: `/address/${address}`,
  flow: `/address/${address}/flow`,
  transaction: `/tx/${txid}`,
  wallet: "/wallet",
};

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/// Elements and texts that an audit names.
function named(items) {
  const one = ({ node, url, description, source, sourceLocation, ...rest }) => node?.snippet ?? url ?? description
    ?? sourceLocation?.url ?? source ?? JSON.stringify(rest).slice(0, 160);
  return (items ?? []).slice(0, 5).map(one);
}

const results = {};
for (const [name, path] of Object.entries(pages)) {
  const scores = Object.fromEntries(CATEGORIES.map((category) => [category, []]));
  const failing = new Map();
  const times = { "largest-contentful-paint": [], "total-blocking-time": [], "cumulative-layout-shift": [] };
  for (let run = 0; run < runs; run += 1) {
    // A browser of its own: no run finds the cache of another.
    const chrome = await launch({ chromeFlags: FLAGS, logLevel: "silent" });
    try {
      const options = { port: chrome.port, logLevel: "silent", onlyCategories: CATEGORIES, output: "json" };
      const { lhr } = await lighthouse(new URL(path, base).href, options, desktopConfig);
      if (lhr.runtimeError) throw new Error(`${path}: ${lhr.runtimeError.message}`);
      for (const category of CATEGORIES) {
        scores[category].push(Math.round(lhr.categories[category].score * 100));
        for (const { id, weight } of lhr.categories[category].auditRefs) {
          const { score, title, displayValue, details } = lhr.audits[id];
          if (weight > 0 && score !== null && score < 0.9) {
            failing.set(`${category}: ${title}${displayValue ? ` (${displayValue})` : ""}`, named(details?.items));
          }
        }
      }
      for (const [id, all] of Object.entries(times)) all.push(lhr.audits[id].numericValue);
    } finally {
      chrome.kill();
    }
  }
  results[name] = { path, scores, failing, times };
}

const cells = (texts) => texts.map((text, at) => (at ? String(text).padStart(15) : String(text).padEnd(12))).join(" ");
console.log(cells(["lighthouse", ...CATEGORIES, "LCP ms", "TBT ms", "CLS"]));
const low = [];
for (const [name, { path, scores, failing, times }] of Object.entries(results)) {
  const reached = CATEGORIES.map((category) => median(scores[category]));
  const [lcp, tbt, cls] = Object.values(times).map(median);
  console.log(cells([name, ...reached, Math.round(lcp), Math.round(tbt), cls.toFixed(3)]));
  CATEGORIES.forEach((category, at) => {
    if (reached[at] < LEAST) low.push(`${path}: ${category} ${reached[at]} (${scores[category].join(", ")})`);
  });
  for (const [audit, items] of failing) console.log(`  ${audit}${items.map((item) => `\n    ${item}`).join("")}`);
}
if (low.length > 0) {
  console.error(low.map((one) => `lighthouse: below ${LEAST}: ${one}`).join("\n"));
  process.exit(1);
}
