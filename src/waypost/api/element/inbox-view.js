/** The pieces that <waypost-inbox> is made of. Text is set as text: nothing a message says is ever read as markup. */

import { ago } from "./inbox-words.js";

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  bell: "M6 9a6 6 0 0 1 12 0c0 6 2.5 7 2.5 7h-17S6 15 6 9M10 20a2.2 2.2 0 0 0 4 0",
  gear: "M4 7h9M19 7h1M4 17h1M11 17h9M16 4.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5M8 14.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5",
  check: "M5 12.5l4.5 4.5L19 7.5", dot: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8",
  box: "M4 5h16v4H4zM5.5 9v10h13V9M10 13h4", back: "M15 6l-6 6 6 6", close: "M6 6l12 12M18 6L6 18",
  clock: "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M12 7.5V12l3 2", cloud: "M7 18a4 4 0 0 1-.5-8A6 6 0 0 1 18 9.500a4.300 4.300 0 0 1-.5 8.500zM4 4l16 16",
};

export function make(tag, { part, on, ...attributes } = {}, ...children) {
  const node = document.createElement(tag);
  if (part) node.setAttribute("part", part);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const [kind, listener] of Object.entries(on || {})) node.addEventListener(kind, listener);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export const button = (name, label, listener, attributes = {}) =>
  make("button", { type: "button", "aria-label": label, title: label, on: { click: listener }, ...attributes }, icon(name));

/** Where a message may lead: to the web or within the page's own site, and never into a script. */
export function safe(address) {
  if (!address) return null;
  try {
    const found = new URL(address, document.baseURI);
    return found.protocol === "https:" || found.protocol === "http:" ? found.href : null;
  } catch {
    return null;
  }
}

/** One message. `deeds` is what its buttons do. */
export function item(message, words, locale, deeds) {
  const link = safe(message.cta_url);
  const isRead = Boolean(message.read_at);
  const open = link
    ? make("a", { class: "open", part: "item-title", href: link }, message.title)
    : make("button", { class: "open", part: "item-title", type: "button" }, message.title);
  open.addEventListener("click", (event) => deeds.open(event, message, null));
  const state = isRead ? null : make("span", { class: "hidden" }, ` ${words.onlyUnread}. `);
  const actions = (message.actions || []).map((action) => {
    const href = safe(action.url);
    const deed = make(href ? "a" : "button", { class: "deed", part: "action", ...(href ? { href } : { type: "button" }) }, action.label);
    deed.addEventListener("click", (event) => deeds.open(event, message, action));
    return deed;
  });
  const tools = message.archived_at
    ? [button("box", words.unarchive, () => deeds.unarchive(message), { class: "tool" })]
    : [
        isRead
          ? button("dot", words.markUnread, () => deeds.unread(message), { class: "tool" })
          : button("check", words.read, () => deeds.read(message), { class: "tool" }),
        button("clock", words.snooze, (event) => deeds.snooze(event, message), { class: "tool", "aria-haspopup": "menu" }),
        button("box", words.archive, () => deeds.archive(message), { class: "tool" }),
      ];
  return make(
    "div", { class: isRead ? "item is-read" : "item", role: "listitem", part: isRead ? "item item-read" : "item item-unread", "data-id": message.id },
    make("span", { class: "dot", "aria-hidden": "true" }),
    make("div", { class: "main" }, state, open,
      message.body ? make("p", { class: "text", part: "item-body" }, message.body) : null,
      make("div", { class: "foot" },
        message.sender ? make("span", {}, message.sender) : null,
        make("time", { datetime: message.received_at, title: new Date(message.received_at).toLocaleString(locale) }, ago(message.received_at, locale))),
      actions.length ? make("div", { class: "deeds" }, ...actions) : null),
    make("div", { class: "tools" }, ...tools),
  );
}

export function note(kind, title, text, action) {
  return make("div", { class: "note", part: kind }, icon(kind === "error" ? "cloud" : "bell"), make("strong", {}, title), make("p", {}, text), action);
}

export const bones = (words) =>
  make("div", { "aria-busy": "true", role: "status", part: "loading" }, make("span", { class: "hidden" }, words.loading),
    ...Array.from({ length: 5 }, () => make("div", { class: "bone" })));

/** Times a message can sleep, on the reader's own clock. */
export function naps(words) {
  const tomorrow = new Date();
  tomorrow.setDate(tomorrow.getDate() + 1);
  tomorrow.setHours(8, 0, 0, 0);
  return [[words.hour, new Date(Date.now() + 3_600_000)], [words.tomorrow, tomorrow], [words.week, new Date(Date.now() + 604_800_000)]];
}

export function wishes(found, words, change) {
  const topics = found.topics || [];
  if (!topics.length) return note("empty", words.settings, words.noTopics);
  return make("div", { class: "wishes", part: "preferences" }, ...topics.map((topic) => {
    const rows = Object.entries(topic.channels).map(([channel, on]) => {
      const label = words.channels[channel] || channel;
      const box = make("input", { type: "checkbox", role: "switch", disabled: topic.mandatory, "aria-label": `${topic.title}: ${label}` });
      box.checked = on;
      box.addEventListener("change", () => change(topic.key, channel, box));
      return make("label", { class: "wish" }, make("span", {}, label), box);
    });
    return make("section", {}, make("h3", {}, topic.title),
      topic.description || topic.mandatory ? make("p", {}, topic.mandatory ? words.mandatory : topic.description) : null, ...rows);
  }));
}
