// Tries operations out: fills the path in, sends the request, shows the answer. Without this script the page lacks
// nothing else.
"use strict";
for (const form of document.querySelectorAll("form.try")) {
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let path = form.dataset.path;
    const query = new URLSearchParams();
    for (const input of form.querySelectorAll("input")) {
      const value = input.value.trim();
      if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(value));
      else if (value !== "") query.append(input.name, value);
    }
    const target = query.size > 0 ? `${path}?${query}` : path;
    const shown = form.querySelector("pre");
    shown.hidden = false;
    shown.textContent = `GET ${target}\n…`;
    try {
      const response = await fetch(target);
      const type = response.headers.get("content-type") || "";
      const text = /json|text/.test(type) ? await response.text() : `(${type})`;
      let body = text;
      try { body = JSON.stringify(JSON.parse(text), null, 2); } catch { /* no JSON: as it is */ }
      shown.textContent = `GET ${target}\n${response.status} ${response.statusText}\n\n${body}`;
    } catch (error) {
      shown.textContent = `GET ${target}\n${error}`;
    }
  });
}
