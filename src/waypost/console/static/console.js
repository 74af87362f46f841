// The little that a page cannot do by itself. Everything works without it, only less comfortably.
(() => {
  "use strict";

  // Nobody looks, so nothing is asked; a pause is a pause; and what someone has opened to read is left alone.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const asking = event.detail.elt;
    if (!asking.hasAttribute("data-live")) return;
    const paused = document.querySelector("[data-pause][aria-pressed=true]");
    if (document.hidden || paused || asking.querySelector("details[open]")) event.preventDefault();
  });

  document.addEventListener("click", async (event) => {
    const pause = event.target.closest("[data-pause]");
    if (pause) {
      const paused = pause.getAttribute("aria-pressed") !== "true";
      pause.setAttribute("aria-pressed", String(paused));
      return;
    }
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent.trim());
      document.getElementById("copied").textContent = "Copied";
      return;
    }
    // A row is as good as the link in it, unless someone marks text or means another link.
    const row = event.target.closest("tr[data-row]");
    if (row && !event.target.closest("a, button, summary, input") && !String(getSelection())) {
      row.querySelector("a").click();
    }
  });

  // The preview follows what is written, a moment later; which locale is open decides which one is shown.
  const editor = document.getElementById("editor");
  if (editor) {
    const show = editor.querySelector("[data-show-preview]");
    let waiting;
    const soon = (pause) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => editor.requestSubmit(show), pause);
    };
    editor.addEventListener("input", () => soon(500));
    editor.addEventListener("toggle", (event) => {
      const locale = event.target.dataset.locale;
      const choice = editor.elements.namedItem("locale");
      if (!locale || !event.target.open || choice.value === locale) return;
      choice.value = locale;
      choice.dispatchEvent(new Event("change", { bubbles: true }));
      soon(0);
    }, true);
    soon(0);
  }

  // “/” goes to the search field, as in many places.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select")) return;
    const search = document.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  });
})();
