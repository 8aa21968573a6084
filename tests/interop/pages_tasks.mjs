// Ten questions that a reader answers in a browser: each starts on the home page, takes at most five steps, only clicks
// and types, and compares the answer on the page with the answer of the API of the same server. A step is a click, or a
// form that is filled in and sent.
//
// Usage: pages_tasks.mjs BASE_URL, with PLAYWRIGHT and BROWSER in the environment, and perhaps SAVER_TPUB, the extended
// public key of the demo's saver, if no story on the home page has it, and API, the server of the API, if the pages are
// those of the preview.

import { createRequire } from "node:module";

const { API, PLAYWRIGHT, BROWSER, SAVER_TPUB } = process.env;
const { chromium } = createRequire(import.meta.url)(PLAYWRIGHT);
const base = new URL(process.argv[2]);

const MAX_STEPS = 5;
const BLOCK = 2800;
// The entity that one source names, and another does not.
const SERVICE = "hillside";
// What the thief took. Fees come out of what moves on.
const THEFT_SATS = 1_250_000_000;
const MAX_FEES_SATS = 1_000_000;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

/// The page and the API do not agree, or the page lacks something.
class Fault extends Error {}

const expect = (holds, fault) => { if (!holds) throw new Fault(fault); };
const same = (shown, told, name) => expect(shown === told, `${name}: the page shows "${shown}", the API "${told}"`);
const contains = (text, part, name) => expect(text.includes(part), `${name}: the page has no "${part}": ${text.slice(0, 300)}`);

/// Text as the pages write it, with plain spaces.
const plain = (text) => text.replace(/[\s\u202f\u00a0]+/g, " ").trim();
/// A number in groups of three digits.
const grouped = (digits) => String(digits).replace(/\B(?=(\d{3})+$)/g, " ");
/// An amount as the pages write it: at least two decimals, exact to the satoshi.
const btc = (sats) => {
  const all = String(Math.abs(sats)).padStart(9, "0");
  const part = all.slice(-8).replace(/0+$/, "").padEnd(2, "0");
  return `${sats < 0 ? "-" : ""}${grouped(all.slice(0, -8))}.${part} BTC`;
};
/// The satoshis of such an amount.
const satsOf = (text) => {
  const found = /^([+-]?)([\d ]+)\.(\d+) BTC$/.exec(plain(text));
  expect(found, `"${text}" is not an amount`);
  const [, sign, whole, part] = found;
  return (sign === "-" ? -1 : 1) * Number(whole.replaceAll(" ", "") + part.padEnd(8, "0"));
};
const decimal = (number) => {
  const [, sign, whole, part] = /^(-?)(\d+)(\.\d+)?$/.exec(String(number));
  return sign + grouped(whole) + (part ? part.padEnd(3, "0") : "");
};
const minute = (time) => time.replace("T", " ").slice(0, 16);
const words = (code) => code.replaceAll("_", " ");

async function api(path, body) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const request = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const answer = await fetch(new URL(path, API || base), request);
  expect(answer.ok, `the API answers ${answer.status} to ${path}: ${(await answer.clone().text()).slice(0, 200)}`);
  return answer.json();
}

/// A reader with a browser, who counts steps.
class Reader {
  constructor(page) {
    this.page = page;
    this.steps = [];
  }

  async step(name, act) {
    this.steps.push(name);
    expect(this.steps.length <= MAX_STEPS, `more than ${MAX_STEPS} steps: ${this.steps.join("; ")}`);
    await act();
    await this.page.waitForLoadState("load");
  }

  async click(locator, name) {
    expect(await locator.count() > 0, `nothing to click: ${name}`);
    await this.step(`click ${name}`, () => locator.first().click());
  }

  async search(text) {
    await this.step(`search "${text.length > 24 ? `${text.slice(0, 20)}…` : text}"`, async () => {
      await this.page.locator("input[name=q]").first().fill(text);
      await Promise.all([this.page.waitForNavigation(), this.page.keyboard.press("Enter")]);
    });
  }

  item(name) { return this.page.locator(`[data-item="${name}"]`); }

  async text(name) {
    const item = this.item(name);
    expect(await item.count() > 0, `no item ${name} on ${this.path()}`);
    return plain(await item.first().innerText());
  }

  /// The cells of a table, by row, and where each row leads.
  async rows(name) {
    expect(await this.item(name).count() > 0, `no item ${name} on ${this.path()}`);
    return this.item(name).first().locator("tbody tr").evaluateAll((rows) => rows.map((row) => ({
      cells: [...row.children].map((cell) => cell.innerText.replace(/[\s\u202f\u00a0]+/g, " ").trim()),
      links: [...row.querySelectorAll("a")].map((link) => link.getAttribute("href")),
    })));
  }

  async tab(name) { await this.click(this.page.locator("nav.tabs a", { hasText: name }), `the tab "${name}"`); }

  /// A story of the home page whose heading has one of these words.
  story(pattern) {
    const heading = this.page.locator("strong", { hasText: pattern });
    return this.item("stories").locator("li").filter({ has: heading }).first();
  }

  path() { return new URL(this.page.url()).pathname + new URL(this.page.url()).search; }

  address() {
    const found = /^\/address\/([^/?]+)/.exec(this.path());
    expect(found, `not the page of an address: ${this.path()}`);
    return decodeURIComponent(found[1]);
  }
}

/// The name of an entity leads to it at once, or by the first hit.
async function toEntity(reader, name) {
  await reader.search(name);
  if (reader.path().startsWith("/search")) await reader.click(reader.item("hits").locator("a[href^='/entity/']"), "the first hit");
}

async function toSleeper(reader) {
  await reader.click(reader.story(/sleeper/i).locator("a", { hasText: "Overview" }), "the sleeper's story");
}

const tasks = {
  "Who mined this block, and how is that known?": async (reader) => {
    await reader.search(String(BLOCK));
    const shown = await reader.text("pool");
    const { pool, pool_reason: reason } = await api(`/v1/blocks/${BLOCK}?tx_limit=1`);
    contains(shown, pool ? pool.name : reason, "pool");
    expect((await reader.text("pool-evidence")).length > 3, "no evidence");
    return `block ${BLOCK}: ${shown}`;
  },

  "When did the exchange's coins last move?": async (reader) => {
    await toEntity(reader, "cairn-exchange");
    await reader.click(reader.item("members").locator("tbody a[href^='/address/']"), "the first address");
    const address = reader.address();
    const shown = await reader.text("last-activity");
    const { last_seen: last } = await api(`/v1/wallets/${address}/overview`);
    contains(shown, minute(last.time), "last activity");
    contains(shown, `block ${last.height}`, "last activity");
    return `${address}: ${minute(last.time)}, block ${last.height}`;
  },

  "How much did this address gain in 2024, in EUR?": async (reader) => {
    // The cost of the sleeper's coins is unknown as long as no series of prices begins in 2011: the page has to say so,
    // and the exchange has an answer.
    await toSleeper(reader);
    await reader.tab("Profit and loss");
    const { reason } = await api(`/v1/wallets/${reader.address()}/pnl`);
    if (reason !== null) {
      contains(await reader.text("unknown"), reason, "reason");
      await toEntity(reader, "cairn-exchange");
      await reader.click(reader.item("members").locator("tbody a[href^='/address/']"), "the first address");
      await reader.tab("Profit and loss");
    }
    const address = reader.address();
    const choose = async () => {
      const form = reader.item("choices");
      await form.locator("select[name=currency]").selectOption("EUR");
      await form.locator("button").click();
      await reader.page.waitForURL(/currency=EUR/);
    };
    // A reader would know the exchange before: the way over the sleeper is not counted.
    if (reason !== null) reader.steps.splice(0, 2);
    await reader.step("choose EUR and show", choose);
    const row = (await reader.rows("years")).find(({ cells }) => cells[0] === "2024");
    expect(row, "no row for 2024");
    const told = (await api(`/v1/wallets/${address}/pnl?currency=EUR`)).years.find(({ year }) => year === 2024);
    const gain = told.realized_gain;
    expect(gain !== null, "the gain is unknown");
    same(row.cells[1].replace(/^\+/, ""), decimal(gain), "gain of 2024");
    return `${address}: ${row.cells[1]} EUR${reason === null ? "" : ` (of the sleeper: unknown, ${reason})`}`;
  },

  "Which of two sources calls this address a service, and why?": async (reader) => {
    // One source says that an address of the thief is at a wallet service. A chain without it has the sleeper, whom two
    // sources call by two names.
    const { results } = await api(`/v1/labels/search?q=${SERVICE}`);
    const hasService = results.length > 0;
    if (hasService) {
      await toEntity(reader, SERVICE);
      await reader.click(reader.page.locator("main table a[href^='/address/']"), "its address");
    } else {
      await toSleeper(reader);
    }
    const rows = await reader.rows("sources");
    const { groups } = await api(`/v1/wallets/${reader.address()}/detail`);
    const claims = groups.flatMap((group) => group.claims);
    expect(claims.length >= 2, `${claims.length} claims, where two sources should disagree`);
    same(rows.length, claims.length, "number of claims");
    for (const claim of claims) {
      const says = [claim.entity_name, claim.category && words(claim.category), claim.label].filter(Boolean);
      const row = rows.find(({ cells }) => cells[0] === claim.source && says.every((part) => cells[1].includes(part)));
      expect(row, `no row says what ${claim.source} says: ${says.join(", ")}`);
      contains(row.cells[3], words(claim.evidence_tier), `evidence of ${claim.source}`);
      if (claim.confidence_level !== null) contains(row.cells[4], `${claim.confidence_level} of 100`, `confidence of ${claim.source}`);
    }
    const differ = (field) => new Set(claims.map((claim) => claim[field])).size >= 2;
    expect(differ("source"), "one source has all claims");
    expect(differ(hasService ? "category" : "entity_name"), "all sources say the same");
    return rows.map(({ cells }) => `${cells[0]}: ${cells[1]} (${cells[3]}, ${cells[4]})`).join(" | ");
  },

  "Where are the 12.5 BTC of the theft now?": async (reader) => {
    // A story leads there at once, a search for the word by its hit.
    const story = reader.story(/theft|thief|stolen/i);
    if (await story.count() > 0) {
      await reader.click(story.locator("a", { hasText: "Follow the money" }), "the story of the theft");
    } else {
      await reader.search("theft");
      if (reader.path().startsWith("/search")) {
        expect(await reader.item("hits").count() > 0, "this chain has no theft: no story and no label has the word");
        await reader.click(reader.item("hits").locator("a"), "the first hit");
      }
      if (reader.path().startsWith("/entity/")) await reader.click(reader.item("members").locator("a[href^='/address/']"), "its address");
      await reader.tab("Flow of money");
    }
    const thief = reader.address();
    await reader.click(reader.item("follow").locator("a"), "\"Follow all money\"");
    const query = reader.path().split("?")[1];
    const rows = await reader.rows("stops");
    expect(rows.length > 0, "nothing is listed where the money stops");
    const graph = await api(`/v1/wallets/${thief}/flow-graph?${query}`);
    const found = [];
    for (const { cells: [box, arrived, left, balance, state], links } of rows) {
      const address = links.map((link) => /^\/address\/([^/?]+)/.exec(link)?.[1]).find(Boolean);
      const node = graph.nodes.find((one) => (address ? one.address === address : box.startsWith(one.label?.value ?? one.id)));
      expect(node, `the API has no box ${box}`);
      same(satsOf(arrived), sum(graph.edges.filter((edge) => edge.target === node.id && reaches(graph, edge.source))), `arrived at ${box}`);
      if (address) {
        const overview = await api(`/v1/wallets/${address}/overview`);
        if (balance !== "not one address") same(balance, btc(overview.balance.confirmed_sats), `balance of ${box}`);
      }
      found.push(`${plain(left)} at ${box} (${state})`);
    }
    const gone = sum(graph.edges.filter((edge) => edge.source === startOf(graph)));
    expect(gone >= THEFT_SATS - MAX_FEES_SATS, `only ${btc(gone)} are followed, of ${btc(THEFT_SATS)}`);
    return `${thief} paid ${btc(gone)}: ${found.join("; ")}`;
  },

  "Is this payment final?": async (reader) => {
    const { members } = await api("/v1/entities/cairn-exchange");
    const { address } = members.find((member) => member.address);
    const { last_seen: { txid } } = await api(`/v1/wallets/${address}/overview`);
    await reader.search(txid);
    const shown = await reader.text("final");
    const { state, confirmations } = await api(`/v1/tx/${txid}/status`);
    same(await reader.text("state"), `State ${words(state)}`, "state");
    const starts = confirmations >= 6 ? "Final: " : "Not final yet: ";
    expect(shown.startsWith(starts), `${confirmations} confirmations: ${shown}`);
    contains(shown, `${confirmations} confirmation`, "sentence");
    return `${txid}: ${shown}`;
  },

  "Which fee confirms a payment within an hour?": async (reader) => {
    const shown = plain(await reader.item("fees").locator("div", { hasText: "One hour" }).locator("dd").innerText());
    const { hour_fee_sat_vb: rate } = await api("/v1/fees/recommended");
    expect(rate !== null, "the API recommends no fee");
    same(shown, `${rate} sat/vB`, "feerate");
    return shown;
  },

  "How old are the exchange's coins on average?": async (reader) => {
    await toEntity(reader, "cairn-exchange");
    await reader.click(reader.item("members").locator("tbody a[href^='/address/']"), "the first address");
    const { coin_age: age, coin_age_reason: reason } = await api(`/v1/wallets/${reader.address()}/overview?include_coin_age=true`);
    const shown = await reader.text("coin-age");
    expect(age, `the API has no age: ${reason}; the page shows "${shown}"`);
    // A whole number of days may have its decimal on the page.
    same(Number(/([\d.]+) days/.exec(shown)?.[1]), age.mean_days, "mean age");
    contains(shown, `${grouped(age.youngest_days)} to ${grouped(age.oldest_days)} days`, "ages");
    return shown;
  },

  "Which addresses belong to this extended public key?": async (reader) => {
    const stories = await reader.item("stories").count() > 0 ? await reader.text("stories") : "";
    const key = SAVER_TPUB || /\b[tuv]pub[1-9A-HJ-NP-Za-km-z]{100,}/.exec(stories)?.[0];
    expect(key, "no story of the home page has a key, and SAVER_TPUB is empty");
    await reader.search(key);
    same(reader.path(), "/wallet", "place of a key");
    const shown = (await reader.rows("used-addresses")).map(({ cells }) => cells.slice(0, 1).concat(cells.slice(2)).join(" "));
    const { addresses, address_count: count } = await api("/v1/wallets/lookup", { wallet: [key] });
    expect(count > 0, "the API knows no used address of it");
    const told = addresses.slice(0, shown.length)
      .map((one) => [one.address, grouped(one.tx_count), btc(one.balance_sats), btc(one.received_sats)].join(" "));
    same(shown.sort().join("; "), told.sort().join("; "), "used addresses");
    same(await reader.text("used-count"), `Used addresses ${grouped(count)}`, "number of used addresses");
    expect(!(await reader.page.content()).includes(key), "the page repeats the key");
    return `${count} addresses, the first ${addresses[0].address}`;
  },

  "Which exchange received most last week?": async (reader) => {
    const row = (await reader.rows("exchanges")).find(({ cells }) => cells[0].startsWith("7d"));
    expect(row, "no window of 7 days");
    const { windows } = await api("/v1/exchange/flows/summary");
    const week = windows.find(({ range }) => range === "7d");
    const [top] = week.top_net_inflows;
    const net = top && `${top.slug} ${top.net_sats > 0 ? "+" : ""}${btc(top.net_sats)}`;
    same(row.cells[4], net ?? "none", "received most");
    same(row.cells[1], btc(week.inflow_sats), "inflow");
    return `${row.cells[4]} (${row.cells[0]})`;
  },
};

const sum = (edges) => edges.reduce((all, edge) => all + edge.value_sats, 0);
const startOf = (graph) => graph.nodes.find(({ depth }) => depth === 0).id;

/// True if money from the start of the graph reaches the box, or if it is the start.
function reaches(graph, id) {
  const found = new Set([startOf(graph)]);
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const edge of graph.edges) if (found.has(edge.source)) found.add(edge.target);
  }
  return found.has(id);
}

const browser = await chromium.launch({ executablePath: BROWSER, headless: true, args: FLAGS });
const failures = [];
try {
  for (const [name, task] of Object.entries(tasks)) {
    // A block may come between the page and the API: then both are asked again.
    for (let attempt = 1; ; attempt += 1) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      context.setDefaultTimeout(20_000);
      const reader = new Reader(await context.newPage());
      try {
        await reader.page.goto(base.href);
        const answer = await task(reader);
        const steps = reader.steps.length ? `${reader.steps.length} ${reader.steps.length === 1 ? "step" : "steps"} (${reader.steps.join("; ")})` : "no step";
        console.log(`tasks: ${name} ${steps}: ${answer}`);
        break;
      } catch (error) {
        if (attempt < 2) continue;
        failures.push(`${name} ${error.message.split("\n")[0]} [${reader.steps.join("; ")}]`);
        break;
      } finally {
        await context.close();
      }
    }
  }
} finally {
  await browser.close();
}
const count = Object.keys(tasks).length;
console.log(`tasks: ${count - failures.length} of ${count} answered by clicks, as the API answers them`);
if (failures.length > 0) {
  console.error(failures.map((one) => `tasks: FAILED: ${one}`).join("\n"));
  process.exit(1);
}
