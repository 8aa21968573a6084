// Keeps the page of the chain up to date: it reads the page again when a block comes, and each half minute for the
// mempool, and puts the new part in the place of the old one.
"use strict";

(() => {
  const PAUSE = 30_000;
  const place = () => document.querySelector("[data-live]");
  if (!place() || typeof EventSource === "undefined") return;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let reading = false;

  // On a small screen, the row of blocks begins where the next block and the newest one meet.
  const row = () => document.querySelector(".row.scroll");
  const newest = row()?.querySelector("ol.newest");
  if (newest) row().scrollLeft = newest.offsetLeft - row().offsetLeft - row().clientWidth / 2;

  async function renew() {
    if (reading || document.hidden) return;
    reading = true;
    try {
      const response = await fetch(location.pathname, { headers: { accept: "text/html" } });
      if (!response.ok) return;
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-live]");
      const old = place();
      // Nothing moves under the hands of someone who reads or types in it.
      if (!fresh || !old || old.contains(document.activeElement)) return;
      const left = row()?.scrollLeft ?? 0;
      const change = () => {
        old.replaceWith(document.adoptNode(fresh));
        if (row()) row().scrollLeft = left;
      };
      if (document.startViewTransition && !still.matches) document.startViewTransition(change);
      else change();
    } catch {
      // The page stays as it is until the server answers again.
    } finally {
      reading = false;
    }
  }

  const source = new EventSource("/v1/events?types=block");
  source.addEventListener("block", renew);
  source.addEventListener("reset", renew);
  setInterval(renew, PAUSE);
  document.addEventListener("visibilitychange", renew);
})();
