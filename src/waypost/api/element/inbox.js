/**
 * <waypost-inbox url="https://waypost.example.com" inbox="main"></waypost-inbox>
 *
 *   document.querySelector("waypost-inbox").getToken = async () => (await fetch("/my/inbox-token")).json();
 *
 * A bell with a badge, and behind it the inbox. Attributes: url, inbox, locale, theme (light, dark), placement (start, end),
 * inline (no bell, always open). Properties: getToken, labels, client. Events: waypost-message, waypost-click (cancelable).
 */

import { InboxClient, InboxError } from "./inbox-client.js";
import { style } from "./inbox-style.js";
import { bones, button, icon, item, make, naps, note, wishes } from "./inbox-view.js";
import { wordsFor } from "./inbox-words.js";

export { InboxClient, InboxError };

const PAGE = 20;
const MOST_IDS = 50;
const TOAST_SECONDS = 6;
const MOST_TOASTS = 3;
const MARGIN = 8;

export class WaypostInbox extends HTMLElement {
  static observedAttributes = ["url", "inbox", "locale"];

  #root = this.attachShadow({ mode: "open" });
  #client = null;
  #getToken = null;
  #labels = {};
  #tab = "all";
  #rows = new Map();
  #next = null;
  #turn = 0;
  #loading = false;
  #isStale = true;
  #unseen = new Set();
  #ending = null;
  #parts = {};
  #watch = null;

  constructor() {
    super();
    this.#root.adoptedStyleSheets = [style];
  }

  // What a page may set

  get client() { return this.#client; }

  get getToken() { return this.#getToken; }
  set getToken(given) {
    this.#getToken = given;
    this.#begin();
  }

  get labels() { return this.#labels; }
  set labels(given) {
    this.#labels = given || {};
    if (this.isConnected) this.#draw();
  }

  get isOpen() { return !this.#parts.panel.hidden; }

  open() {
    if (this.isOpen) return;
    this.#parts.panel.hidden = false;
    this.#parts.bell.setAttribute("aria-expanded", "true");
    this.#fit();
    if (this.#isStale) this.#reload();
    else this.#noteSeen();
    if (!this.hasAttribute("inline")) this.#parts.panel.focus();
  }

  close() {
    if (!this.isOpen || this.hasAttribute("inline")) return;
    const within = this.#root.activeElement !== null;
    this.#parts.panel.hidden = true;
    this.#parts.bell.setAttribute("aria-expanded", "false");
    if (within) this.#parts.bell.focus();
  }

  /** Moves the panel back into the window where the bell stands too near its edge. */
  #fit() {
    const { panel } = this.#parts;
    if (!this.isOpen || this.hasAttribute("inline")) return;
    panel.style.translate = "none";
    const { left, right } = panel.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const shift = left < MARGIN ? MARGIN - left : Math.min(0, width - MARGIN - right);
    panel.style.translate = `${shift}px 0`;
  }

  // Life

  connectedCallback() {
    // A property set before the script came is an ordinary field that hides ours.
    for (const name of ["getToken", "labels"]) {
      if (Object.hasOwn(this, name)) {
        const given = this[name];
        delete this[name];
        this[name] = given;
      }
    }
    this.#ending = new AbortController();
    const { signal } = this.#ending;
    this.#draw();
    document.addEventListener("pointerdown", (event) => { if (!event.composedPath().includes(this)) this.close(); }, { signal });
    globalThis.addEventListener("resize", () => this.#fit(), { signal });
    this.#root.addEventListener("keydown", (event) => this.#onKey(event), { signal });
    this.#begin();
  }

  disconnectedCallback() {
    this.#ending?.abort();
    this.#client?.stop();
    this.#client = null;
    this.#watch?.disconnect();
  }

  attributeChangedCallback(name, before, after) {
    if (before === after || !this.#ending || this.#ending.signal.aborted) return;
    this.#draw();
    if (name !== "locale") {
      this.#client?.stop();
      this.#client = null;
      this.#begin();
    }
  }

  #begin() {
    if (!this.isConnected || this.#client || !this.#getToken || !this.#ending) return;
    const client = new InboxClient({
      url: this.getAttribute("url") || new URL(".", import.meta.url).href,
      inbox: this.getAttribute("inbox") || "main",
      getToken: () => this.#getToken(),
    });
    this.#client = client;
    const ours = (listener) => (event) => { if (client === this.#client) listener(event.detail); };
    client.addEventListener("counts", ours((counts) => this.#onCounts(counts)));
    client.addEventListener("message", ours((message) => this.#onMessage(message)));
    client.addEventListener("change", ours((message) => this.#put(message)));
    client.addEventListener("removed", ours(({ id }) => this.#drop(id)));
    client.addEventListener("read_all", ours(({ before, read_at: at }) => this.#onReadAll(before, at)));
    client.addEventListener("reset", ours(() => this.#onReset()));
    client.addEventListener("status", ours(({ status }) => this.#onStatus(status)));
    client.start();
    client.fetchCounts().catch(() => {});
    if (this.isOpen) this.#reload();
  }

  // Drawing

  get #locale() { return this.getAttribute("locale") || document.documentElement.lang || navigator.language || "en"; }
  get #words() { return wordsFor(this.#locale, this.#labels); }

  #draw() {
    const words = this.#words;
    const wasOpen = this.#parts.panel ? this.isOpen : this.hasAttribute("inline");
    const badge = make("span", { class: "badge", part: "badge", hidden: true, "aria-hidden": "true" });
    const bell = make("button", {
      class: "bell", part: "bell", type: "button", "aria-haspopup": "dialog", "aria-expanded": String(wasOpen), "aria-label": words.open,
      on: { click: () => (this.isOpen ? this.close() : this.open()) },
    }, icon("bell"), badge);
    const readAll = make("button", { type: "button", part: "read-all", disabled: true, on: { click: () => this.#readAll() } }, icon("check"), words.readAll);
    const settings = button("gear", words.settings, () => this.#showWishes(), { part: "preferences-button" });
    const title = make("h2", { id: "title" }, words.title);
    const tabs = make("div", { class: "tabs", part: "tabs", role: "tablist", "aria-labelledby": "title" });
    const bar = make("div", { class: "bar", part: "offline", role: "status", hidden: true });
    const body = make("div", { class: "body", part: "list", id: "body", role: "tabpanel", tabindex: "0", "aria-labelledby": "title" });
    const panel = make("div", { class: "panel", part: "panel", role: "dialog", "aria-labelledby": "title", tabindex: "-1", hidden: !wasOpen },
      make("div", { class: "head", part: "header" }, title, readAll, settings), bar, tabs, body);
    const toasts = make("div", { class: "toasts", part: "toasts", "aria-live": "polite" });
    const said = make("div", { class: "hidden", role: "status", "aria-live": "polite" });
    const dir = this.closest("[dir]")?.getAttribute("dir") || (/^(ar|fa|he|ur)\b/.test(this.#locale) ? "rtl" : null);
    const frame = make("div", { dir, lang: this.#locale }, bell, panel, toasts, said);
    this.#root.replaceChildren(frame);
    this.#parts = { bell, badge, readAll, settings, title, tabs, bar, body, panel, toasts, said };
    this.#rows.clear();
    this.#isStale = true;
    if (this.#client?.counts) this.#onCounts(this.#client.counts);
    else this.#drawTabs({ topics: {} });
    if (wasOpen && this.#client) this.#reload();
    else if (wasOpen) body.replaceChildren(bones(words));
  }

  #drawTabs(counts) {
    const words = this.#words;
    const wanted = [["all", words.all, 0], ["unread", words.onlyUnread, counts.unread || 0],
      ...Object.entries(counts.topics).map(([topic, tally]) => [`topic:${topic}`, this.#labels.topics?.[topic] || topic, tally.unread]),
      ["archived", words.archived, 0]];
    const focused = this.#root.activeElement?.getAttribute("data-tab");
    if (!wanted.some(([key]) => key === this.#tab)) wanted.splice(2, 0, [this.#tab, this.#tab.slice(6), 0]);
    this.#parts.tabs.replaceChildren(...wanted.map(([key, label, unread]) => make("button", {
      class: "tab", part: "tab", type: "button", role: "tab", "data-tab": key, "aria-controls": "body",
      "aria-selected": String(key === this.#tab), tabindex: key === this.#tab ? "0" : "-1", on: { click: () => this.#choose(key) },
    }, label, unread ? make("span", {}, String(unread)) : null)));
    if (focused) this.#tabCalled(focused)?.focus();
  }

  #tabCalled(key) { return [...this.#parts.tabs.children].find((tab) => tab.dataset.tab === key); }

  #choose(key) {
    this.#tab = key;
    for (const tab of this.#parts.tabs.children) {
      const chosen = tab.dataset.tab === key;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    this.#reload();
  }

  #onKey(event) {
    if (event.key === "Escape") {
      const menu = this.#root.querySelector(".menu");
      if (menu) this.#closeMenu(menu, true);
      else this.close();
      return;
    }
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const tab = event.target.closest?.(".tab");
    if (tab && (step || event.key === "Home" || event.key === "End")) {
      const all = [...this.#parts.tabs.children];
      const towards = getComputedStyle(tab).direction === "rtl" ? -step : step;
      const place = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : (all.indexOf(tab) + towards + all.length) % all.length;
      event.preventDefault();
      all[place].focus();
      this.#choose(all[place].dataset.tab);
    }
    const up = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const choice = event.target.closest?.(".menu button");
    if (up && choice) {
      const all = [...choice.parentNode.children];
      event.preventDefault();
      all[(all.indexOf(choice) + up + all.length) % all.length].focus();
    }
  }

  // Loading

  get #filter() {
    if (this.#tab === "unread") return { unread: true };
    if (this.#tab === "archived") return { archived: true };
    return this.#tab.startsWith("topic:") ? { topic: this.#tab.slice(6) } : {};
  }

  #belongs(message) {
    if (message.snoozed_until && new Date(message.snoozed_until) > new Date()) return false;
    if (this.#tab === "archived") return Boolean(message.archived_at);
    if (message.archived_at) return false;
    // What was read a moment ago stays where it is until the list is opened again.
    if (this.#tab === "unread") return !message.read_at || this.#rows.has(message.id);
    return !this.#tab.startsWith("topic:") || message.topic === this.#tab.slice(6);
  }

  async #reload() {
    this.#turn += 1;
    this.#rows.clear();
    this.#next = null;
    this.#isStale = false;
    this.#loading = false;
    this.#parts.title.textContent = this.#words.title;
    this.#parts.body.setAttribute("aria-label", this.#tabCalled(this.#tab)?.firstChild.textContent || this.#words.title);
    this.#parts.body.removeAttribute("aria-labelledby");
    this.#parts.body.replaceChildren(bones(this.#words));
    await this.#loadPage();
  }

  async #loadPage() {
    if (this.#loading || !this.#client) return;
    const turn = this.#turn;
    this.#loading = true;
    try {
      const page = await this.#client.list({ ...this.#filter, cursor: this.#next, limit: PAGE });
      if (turn !== this.#turn) return;
      this.#next = page.next;
      this.#addPage(page.items);
    } catch (error) {
      if (turn === this.#turn) this.#showError(error);
    } finally {
      if (turn === this.#turn) this.#loading = false;
    }
  }

  #addPage(messages) {
    const { body, said } = this.#parts;
    let list = body.querySelector(".list");
    const isFirst = !list;
    if (isFirst) {
      list = make("div", { class: "list", part: "items", role: "list" });
      body.replaceChildren(list, make("div", { class: "end" }));
      body.scrollTop = 0;
    }
    body.querySelector(".note")?.remove();
    const fresh = messages.filter((message) => !this.#rows.has(message.id));
    // Pages far from what is shown cost nothing: each is a leaf that the browser lays out when it comes near.
    const leaf = make("div", { class: "leaf" });
    for (const message of fresh) {
      const row = this.#row(message);
      this.#rows.set(message.id, { message, row });
      leaf.append(row);
    }
    if (fresh.length) list.append(leaf);
    if (!isFirst && fresh.length) said.textContent = this.#words.more;
    this.#watchEnd();
    this.#showEmpty();
    this.#noteSeen(fresh);
  }

  #watchEnd() {
    this.#watch?.disconnect();
    const end = this.#parts.body.querySelector(".end");
    if (!this.#next || !end) return;
    this.#watch = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) this.#loadPage(); },
      { root: this.#parts.body, rootMargin: "400px" });
    this.#watch.observe(end);
  }

  #showEmpty() {
    const { body } = this.#parts;
    if (!body.querySelector(".list")) return;
    const empty = body.querySelector(".note");
    if (this.#rows.size === 0 && !this.#next) {
      if (!empty) body.prepend(note("empty", this.#words.emptyTitle, this.#words.empty));
    } else empty?.remove();
  }

  #showError(error) {
    const again = make("button", { class: "again", part: "retry", type: "button", on: { click: () => {
      if (this.#rows.size) { this.#parts.body.querySelector(".note")?.remove(); this.#loadPage(); } else this.#reload();
    } } }, this.#words.retry);
    const told = note("error", this.#words.errorTitle, this.#words.error, again);
    told.setAttribute("role", "alert");
    told.dataset.code = error.code || "network";
    if (this.#rows.size) { this.#watch?.disconnect(); this.#parts.body.append(told); } else this.#parts.body.replaceChildren(told);
  }

  // News

  #onCounts(counts) {
    const { badge, bell, readAll } = this.#parts;
    badge.hidden = counts.unread === 0;
    badge.textContent = counts.unread > 99 ? "99+" : String(counts.unread);
    bell.setAttribute("aria-label", counts.unread ? `${this.#words.open}, ${this.#words.unread(counts.unread)}` : this.#words.open);
    readAll.disabled = counts.unread === 0;
    this.#drawTabs(counts);
  }

  #onMessage(message) {
    const isNew = !this.#rows.has(message.id);
    this.#put(message);
    if (isNew && !this.isOpen && !message.read_at) this.#toast(message);
    this.dispatchEvent(new CustomEvent("waypost-message", { detail: message, bubbles: true, composed: true }));
  }

  #onReadAll(before, at) {
    for (const { message } of [...this.#rows.values()]) {
      if (!message.read_at && (!before || message.id <= before)) this.#put({ ...message, read_at: at });
    }
  }

  #onReset() {
    if (this.isOpen && !this.#parts.body.querySelector(".wishes")) this.#reload();
    else this.#isStale = true;
  }

  #onStatus(status) {
    const { bar } = this.#parts;
    bar.hidden = status !== "offline";
    bar.textContent = status === "offline" ? this.#words.offline : "";
    if (status === "live" && this.isOpen && this.#parts.body.querySelector('[part="error"]')) this.#reload();
  }

  #row(message) {
    return item(message, this.#words, this.#locale, {
      open: (event, which, action) => this.#follow(event, which, action),
      read: (which) => this.#do("read", which, { read_at: new Date().toISOString() }),
      unread: (which) => this.#do("unread", which, { read_at: null }),
      archive: (which) => this.#do("archive", which, { archived_at: new Date().toISOString() }),
      unarchive: (which) => this.#do("unarchive", which, { archived_at: null }),
      snooze: (event, which) => this.#offerNaps(event, which),
    });
  }

  /** Shows a message as it is now: in its place, as a new first one, or no longer. */
  #put(message) {
    const list = this.#parts.body.querySelector(".list");
    if (!list) { this.#isStale = true; return; }
    const known = this.#rows.get(message.id);
    if (!this.#belongs(message)) { if (known) this.#drop(message.id); return; }
    if (known && looksAlike(known.message, message)) { known.message = message; return; }
    const row = this.#row(message);
    if (known) {
      const place = [...known.row.querySelectorAll("button, a")].indexOf(this.#root.activeElement);
      known.row.replaceWith(row);
      if (place >= 0) row.querySelectorAll("button, a")[Math.min(place, row.querySelectorAll("button, a").length - 1)]?.focus();
    } else {
      const later = [...this.#rows.values()].filter((one) => one.message.id < message.id);
      const after = later.length ? later.reduce((a, b) => (a.message.id > b.message.id ? a : b)).row : null;
      if (!after && this.#next) return; // It lies beyond what is loaded.
      if (after) after.before(row);
      else (list.lastElementChild || list.appendChild(make("div", { class: "leaf" }))).append(row);
    }
    this.#rows.set(message.id, { message, row });
    this.#showEmpty();
    if (!known) this.#noteSeen([message]);
  }

  #drop(id) {
    const known = this.#rows.get(id);
    if (!known) { if (!this.#parts.body.querySelector(".list")) this.#isStale = true; return; }
    const leaf = known.row.parentNode;
    if (known.row.contains(this.#root.activeElement)) {
      const all = [...this.#parts.body.querySelectorAll(".item")];
      const place = all.indexOf(known.row);
      ((all[place + 1] || all[place - 1])?.querySelector(".open") || this.#parts.body).focus();
    }
    known.row.remove();
    if (!leaf.childElementCount) leaf.remove();
    this.#rows.delete(id);
    this.#showEmpty();
  }

  // Acting: shown at once, taken back where it did not work

  async #do(verb, message, change, ...more) {
    this.#put({ ...message, ...change });
    try {
      await this.#client[verb]([message.id], ...more);
    } catch {
      this.#say(this.#words.notSaved);
      this.#put(message);
    }
  }

  async #readAll() {
    try {
      const before = [...this.#rows.keys()].sort().at(-1) || new Date().toISOString();
      this.#onReadAll(null, new Date().toISOString());
      await this.#client.readAll(before);
    } catch {
      this.#say(this.#words.notSaved);
      this.#reload();
    }
  }

  #follow(event, message, action) {
    const told = new CustomEvent("waypost-click", { detail: { message, action }, bubbles: true, composed: true, cancelable: true });
    if (!this.dispatchEvent(told)) event.preventDefault();
    this.#client.click([message.id]).catch(() => {});
    if (!message.read_at) this.#do("read", message, { read_at: new Date().toISOString() });
  }

  #offerNaps(event, message) {
    const opener = event.currentTarget;
    const open = this.#root.querySelector(".menu");
    if (open) this.#closeMenu(open, false);
    if (open?.parentNode === opener.closest(".item")) return;
    const menu = make("div", { class: "menu", part: "menu", role: "menu", "aria-label": this.#words.snooze },
      ...naps(this.#words).map(([label, until]) => make("button", { type: "button", role: "menuitem", on: { click: () => {
        this.#closeMenu(menu, false);
        this.#do("snooze", message, { snoozed_until: until.toISOString() }, until);
      } } }, label)));
    menu.addEventListener("focusout", (leaving) => { if (!menu.contains(leaving.relatedTarget)) this.#closeMenu(menu, false); });
    opener.setAttribute("aria-expanded", "true");
    menu.opener = opener;
    opener.closest(".item").append(menu);
    menu.firstChild.focus();
  }

  #closeMenu(menu, back) {
    if (menu.isClosed) return; // Taking away what has the focus says so once more.
    menu.isClosed = true;
    menu.opener.setAttribute("aria-expanded", "false");
    menu.remove();
    if (back) menu.opener.focus();
  }

  /** What is shown on an open panel has been seen. */
  #noteSeen(messages = [...this.#rows.values()].map((one) => one.message)) {
    if (!this.isOpen || this.#tab === "archived" || document.visibilityState === "hidden") return;
    const waiting = this.#unseen.size;
    for (const message of messages) if (!message.seen_at && !message.read_at) this.#unseen.add(message.id);
    if (waiting || !this.#unseen.size) return;
    setTimeout(async () => {
      const ids = [...this.#unseen];
      this.#unseen.clear();
      for (let from = 0; from < ids.length; from += MOST_IDS) await this.#client?.seen(ids.slice(from, from + MOST_IDS)).catch(() => {});
    }, 400);
  }

  // Preferences

  async #showWishes() {
    const { body, title, tabs, settings, readAll } = this.#parts;
    const words = this.#words;
    this.#turn += 1;
    this.#watch?.disconnect();
    title.textContent = words.settings;
    tabs.hidden = true;
    readAll.hidden = true;
    const back = button("back", words.back, () => {
      back.replaceWith(settings);
      tabs.hidden = false;
      readAll.hidden = false;
      this.#reload();
      settings.focus();
    }, { class: "back" });
    settings.replaceWith(back);
    back.focus();
    body.replaceChildren(bones(words));
    try {
      const found = await this.#client.preferences();
      body.replaceChildren(wishes(found, words, (topic, channel, box) => this.#wish(topic, channel, box)));
    } catch (error) {
      const again = make("button", { class: "again", part: "retry", type: "button", on: { click: () => { back.replaceWith(settings); this.#showWishes(); } } }, words.retry);
      body.replaceChildren(note("error", words.errorTitle, words.error, again));
    }
  }

  async #wish(topic, channel, box) {
    try {
      await this.#client.setPreferences({ channels: { [channel]: { topics: { [topic]: box.checked } } } });
      this.#say(this.#words.saved);
    } catch {
      box.checked = !box.checked;
      this.#say(this.#words.notSaved);
    }
  }

  // Saying

  #say(words) { this.#parts.said.textContent = words; }

  #toast(message) {
    const { toasts } = this.#parts;
    const words = this.#words;
    const gone = () => { clearTimeout(timer); toast.remove(); };
    const show = make("button", { class: "open", type: "button", on: { click: () => { gone(); this.open(); } } }, message.title);
    const toast = make("div", { class: "toast", part: "toast" }, show,
      button("close", words.dismiss, gone, { class: "tool" }), message.body ? make("p", { class: "text" }, message.body) : null);
    let timer = setTimeout(gone, TOAST_SECONDS * 1000);
    toast.addEventListener("pointerenter", () => clearTimeout(timer));
    toast.addEventListener("pointerleave", () => { timer = setTimeout(gone, TOAST_SECONDS * 1000); });
    toasts.append(toast);
    while (toasts.children.length > MOST_TOASTS) toasts.firstChild.remove();
  }
}

/** That it has been seen makes no difference to look at. */
const looksAlike = (before, after) => {
  const shown = ({ seen_at: seen, clicked_at: clicked, ...rest }) => JSON.stringify(rest);
  return shown(before) === shown(after);
};

if (!customElements.get("waypost-inbox")) customElements.define("waypost-inbox", WaypostInbox);
