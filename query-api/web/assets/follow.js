// Follows a transaction that is not confirmed: it asks for its state each ten seconds, and reads the page again when the
// state has changed.
"use strict";

(() => {
  const PAUSE = 10_000;
  const section = document.querySelector("[data-follow]");
  const shown = document.querySelector("[data-state]");
  if (!section || !shown) return;
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      const response = await fetch(section.dataset.follow, { headers: { accept: "application/json" } });
      if (!response.ok) return;
      const { state } = await response.json();
      if (state === shown.dataset.state) return;
      clearInterval(timer);
      location.reload();
    } catch {
      // The server may be away for a moment.
    }
  }, PAUSE);
})();
