// Tries operations out: fills the path in, sends the request, shows the answer. Without this script the page lacks
// nothing else.
"use strict";

/// More of a body than this is not shown: the page has to stay quick.
const MOST = 200_000;

function target(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("input")) {
    const value = input.value.trim();
    // A function, because a text may hold what replace would take for a pattern.
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, () => encodeURIComponent(value));
    else if (value !== "") query.append(input.name, value);
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

async function bodyOf(response) {
  const type = response.headers.get("content-type") || "";
  if (!/json|text/.test(type)) return `(${type}, ${(await response.blob()).size} bytes)`;
  let text = await response.text();
  try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* no JSON: as it is */ }
  return text.length > MOST ? `${text.slice(0, MOST)}\n(and ${text.length - MOST} characters more)` : text;
}

async function send(form) {
  const address = target(form);
  const shown = form.querySelector("pre");
  form.querySelector("img")?.remove();
  shown.hidden = false;
  shown.textContent = `GET ${address}\n…`;
  try {
    const response = await fetch(address, { cache: "no-store" });
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const status = `HTTP ${response.status} ${response.statusText}`.trim();
    const body = await bodyOf(response);
    shown.textContent = `GET ${address}\n${status}\n${headers}\n\n${body}`;
    if (response.ok && (response.headers.get("content-type") || "").startsWith("image/")) {
      const picture = new Image();
      picture.src = address;
      picture.alt = "The picture in the answer";
      shown.after(picture);
    }
  } catch (error) {
    shown.textContent = `GET ${address}\n${error}`;
  }
}

for (const form of document.querySelectorAll("form.try")) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    send(form).finally(() => { form.ariaBusy = "false"; });
  });
}
