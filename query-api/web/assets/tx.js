// Follows a transaction that is not final: it asks for its state each ten seconds, and puts the new words in the place of
// the old ones. Places as other explorers write them (#vout=1, #vin=0) lead to the row.
"use strict";

(() => {
  const PAUSE = 10_000;
  const place = /^#(vout|vin)=(\d{1,9})$/.exec(location.hash);
  if (place) {
    const [, side, index] = place;
    const name = side === "vout" ? "out" : "in";
    location.replace(`${location.pathname}?${name}=${index}#${name}-${index}`);
    return;
  }

  const section = () => document.querySelector("[data-follow]");
  const page = async (target) => {
    const response = await fetch(target, { headers: { accept: "text/html" } });
    // An unknown transaction is a 404 with the same section.
    if (!response.ok && response.status !== 404) return null;
    return new DOMParser().parseFromString(await response.text(), "text/html");
  };
  const put = (old, fresh) => {
    // Nothing moves under the hands of someone who reads or types in it.
    if (old && fresh && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(fresh));
  };
  let reading = false;

  async function renew() {
    const old = section();
    if (reading || document.hidden || !old) return;
    reading = true;
    try {
      const fresh = await page(old.dataset.follow);
      const state = fresh?.querySelector("[data-state]");
      if (!state) return;
      const hasMoved = state.dataset.state !== old.querySelector("[data-state]")?.dataset.state;
      // The sentence stays the same element, so that it is read out when its words change.
      const [said, says] = [old, fresh].map((one) => one.querySelector("[data-sentence]"));
      if (said && says && said.textContent !== says.textContent) said.textContent = says.textContent;
      put(old.querySelector("dl"), fresh.querySelector("dl"));
      if (hasMoved) {
        const whole = await page(location.pathname + location.search);
        put(document.querySelector("[data-rest]"), whole?.querySelector("[data-rest]"));
      }
      if (!fresh.querySelector("[data-follow]")) {
        old.removeAttribute("data-follow");
        old.querySelector("[data-again]")?.remove();
      }
    } catch {
      // The page stays as it is until the server answers again.
    } finally {
      reading = false;
    }
  }

  if (!section()) return;
  setInterval(renew, PAUSE);
  document.addEventListener("visibilitychange", renew);
})();
