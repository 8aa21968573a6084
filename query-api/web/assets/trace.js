// Grows the drawing of a flow in place: the first click on a box adds its neighbours, the next one leads to its page.
// Without this script, and after an error, each click leads there.
"use strict";

(() => {
  const MAX_BOXES = 200;
  const NEIGHBOURS = 20;
  const WAY = 10;
  const WIDEST = 14;
  const SVG = "http://www.w3.org/2000/svg";
  const svg = document.querySelector("svg.flow");
  const lines = svg?.querySelector(".edges");
  const news = document.querySelector("[data-grown]");
  const rows = document.querySelector("[data-item=edges] tbody");
  const sample = svg?.querySelector("rect");
  if (!svg || !lines || !news || !rows || !sample) return;
  const [step, row, margin] = ["columnStep", "rowStep", "margin"].map((name) => Number(svg.dataset[name]));
  const [width, height] = ["width", "height"].map((name) => Number(sample.getAttribute(name)));
  const boxes = new Map();
  const edges = new Map();
  const grown = new Set();
  let isBusy = false;

  const key = (source, target) => JSON.stringify([source, target]);
  const number = (element, name) => Number(element.getAttribute(name));
  for (const group of svg.querySelectorAll("[data-box]")) {
    const rect = group.querySelector("rect");
    const column = Math.round((number(rect, "x") - margin) / step);
    boxes.set(group.dataset.box, { group, column, order: number(rect, "y") });
  }
  for (const path of lines.querySelectorAll("path")) {
    const { source, target, sats } = path.dataset;
    edges.set(key(source, target), { source, target, sats: Number(sats), path });
  }

  // The same texts as those of the server.
  const visible = (text) =>
    text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
  function short(text) {
    const all = [...text];
    return all.length <= 18 ? text : `${all.slice(0, 8).join("")}…${all.slice(-6).join("")}`;
  }
  function btc(sats) {
    const digits = String(sats).padStart(9, "0");
    const whole = digits.slice(0, -8).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return `${whole}.${digits.slice(-8).replace(/0+$/, "").padEnd(2, "0")} BTC`;
  }
  const words = (code) => code.replaceAll("_", " ");
  const minute = (time) => (time ? time.slice(0, 16).replace("T", " ") : "not in a block");
  const nameOf = (node) => visible(node.label?.value ?? node.entity ?? node.address ?? words(node.kind));

  function add(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  // The page of a flow, with the filters of the link that was clicked and the way over it.
  function place(address, from) {
    const url = new URL(`/address/${encodeURIComponent(address)}/flow`, location.origin);
    const query = new URLSearchParams(new URL(from.link, location.origin).search);
    const way = [...(query.get("via") ?? "").split(","), from.address].filter((one) => /^[A-Za-z0-9]+$/.test(one));
    query.set("via", way.slice(-WAY).join(","));
    url.search = query;
    return url.pathname + url.search;
  }

  function addBox(node, from, column, order) {
    const link = node.address ? place(node.address, from) : null;
    const [name, amount] = [nameOf(node), btc(Math.max(node.value_in_sats, node.value_out_sats))];
    const group = add(svg, link ? "a" : "g", { "data-box": node.id });
    const kind = node.kind === "address" ? "" : `, ${words(node.kind)}`;
    if (link) {
      group.setAttribute("href", link);
      group.setAttribute("aria-label", `${short(name)} ${amount}, ${name}${kind}`);
    }
    add(group, "title", {}, `${name}${kind}, ${amount}`);
    add(group, "rect", { width, height, rx: 6 });
    add(group, "text", {}, short(name));
    group.append(" ");
    add(group, "text", {}, amount);
    boxes.set(node.id, { group, column, order });
  }

  function cell(line, ...content) {
    const made = document.createElement("td");
    made.append(...content);
    line.append(made);
    return made;
  }

  function end(id, nodes) {
    const node = nodes.get(id);
    if (!node?.address) return visible(id);
    const link = document.createElement("a");
    link.href = `/address/${encodeURIComponent(node.address)}`;
    link.textContent = short(nameOf(node));
    return link;
  }

  function addRow(edge, nodes) {
    const line = document.createElement("tr");
    cell(line, end(edge.source, nodes));
    cell(line, end(edge.target, nodes));
    cell(line, btc(edge.value_sats)).className = "amount";
    cell(line, String(edge.count)).className = "amount";
    cell(line, minute(edge.first));
    cell(line, minute(edge.last));
    const [txid] = edge.txids;
    const evidence = document.createElement("a");
    evidence.textContent = short(txid ?? "");
    evidence.href = `/tx/${encodeURIComponent(txid ?? "")}`;
    cell(line, txid ? evidence : "none named");
    rows.append(line);
  }

  // As the server draws: columns from left to right, boxes of a column one below the other.
  function draw() {
    const columns = new Map();
    for (const box of boxes.values()) columns.set(box.column, [...(columns.get(box.column) ?? []), box]);
    const tallest = Math.max(...[...columns.values()].map((all) => all.length)) * row;
    [...columns.keys()].sort((a, b) => a - b).forEach((column, at) => {
      const all = columns.get(column).sort((a, b) => a.order - b.order);
      all.forEach((box, index) => {
        box.x = margin + at * step;
        box.y = Math.trunc(margin + (tallest - all.length * row) / 2 + index * row);
        const [rect, texts] = [box.group.querySelector("rect"), box.group.querySelectorAll("text")];
        rect.setAttribute("x", box.x);
        rect.setAttribute("y", box.y);
        texts.forEach((text, line) => {
          text.setAttribute("x", box.x + 8);
          text.setAttribute("y", box.y + 16 + 15 * line);
        });
      });
    });
    const most = Math.max(1, ...[...edges.values()].map((edge) => edge.sats));
    for (const { source, target, sats, path } of edges.values()) {
      const [from, to] = [boxes.get(source), boxes.get(target)];
      const [y1, y2] = [from.y + height / 2, to.y + height / 2];
      const side = Math.sign(to.x - from.x);
      const x1 = side < 0 ? from.x : from.x + width;
      const x2 = side > 0 ? to.x : to.x + width;
      const [bend1, bend2] = side === 0 ? [48, 48] : [32 * side, -32 * side];
      path.setAttribute("d", `M${x1} ${y1}C${x1 + bend1} ${y1} ${x2 + bend2} ${y2} ${x2} ${y2}`);
      path.setAttribute("stroke-width", Math.max(1, (sats * WIDEST) / most));
    }
    const size = [columns.size * step - (step - width) + 2 * margin, tallest + 2 * margin];
    svg.setAttribute("width", size[0]);
    svg.setAttribute("height", size[1]);
    svg.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
    svg.setAttribute("aria-label", `${boxes.size} boxes and ${edges.size} payments between them`);
  }

  async function grow(id, link) {
    const url = new URL(link, location.origin);
    const address = decodeURIComponent(url.pathname.split("/")[2]);
    const query = new URLSearchParams(url.search);
    query.delete("via");
    query.set("hops", 1);
    query.set("node_limit", Math.min(NEIGHBOURS, Number(query.get("node_limit")), MAX_BOXES - boxes.size + 1));
    const response = await fetch(`/v1/wallets/${encodeURIComponent(address)}/flow-graph?${query}`);
    if (!response.ok) throw new Error(response.status);
    const graph = await response.json();
    const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const { column, order } = boxes.get(id);
    const before = boxes.size;
    for (const node of graph.nodes) {
      if (boxes.has(node.id) || boxes.size >= MAX_BOXES) continue;
      addBox(node, { link, address }, column + Math.sign(node.x), order + (boxes.size - before + 1) / 1_000);
    }
    for (const edge of graph.edges) {
      const name = key(edge.source, edge.target);
      if (edges.has(name) || !boxes.has(edge.source) || !boxes.has(edge.target)) continue;
      const { source, target, value_sats: sats } = edge;
      edges.set(name, { source, target, sats, path: add(lines, "path", {}) });
      addRow(edge, nodes);
    }
    draw();
    return boxes.size - before;
  }

  svg.addEventListener("click", async (event) => {
    const box = event.target.closest("a[data-box]");
    if (!box || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const [id, link] = [box.dataset.box, box.getAttribute("href")];
    if (grown.has(id) || (boxes.size >= MAX_BOXES && !isBusy)) return;
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    news.textContent = "Asking for the neighbours of the box …";
    try {
      const count = await grow(id, link);
      grown.add(id);
      box.classList.add("grown");
      news.textContent = `${count} ${count === 1 ? "box" : "boxes"} added; ${boxes.size} of at most ${MAX_BOXES}. ` +
        "The next click on the same box leads to its own page. Figures below are those of the first drawing.";
      box.scrollIntoView({ block: "nearest", inline: "nearest" });
    } catch {
      // The page of the box says why.
      location.assign(link);
    } finally {
      isBusy = false;
    }
  });
})();
