/** How <waypost-inbox> looks. Every colour, size and radius is a custom property; every piece is a part. */

const TEXT = `
:host {
  --_accent: var(--waypost-accent, #3056d3);
  --_on-accent: var(--waypost-on-accent, #ffffff);
  --_surface: var(--waypost-surface, #ffffff);
  --_raised: var(--waypost-raised, #f4f5f8);
  --_text: var(--waypost-text, #1b1f2a);
  --_muted: var(--waypost-muted, #5a6172);
  --_line: var(--waypost-line, #dfe2ea);
  --_alert: var(--waypost-alert, #c42b3a);
  --_radius: var(--waypost-radius, 12px);
  --_width: var(--waypost-width, 400px);
  --_height: var(--waypost-height, 560px);
  --_shadow: var(--waypost-shadow, 0 12px 40px rgb(15 20 40 / 0.18));
  position: relative; display: inline-block; color: var(--_text);
  font: var(--waypost-font, 400 15px/1.45 system-ui, sans-serif);
}
:host([hidden]) { display: none; }
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) {
  --_accent: var(--waypost-accent, #8aa4ff); --_on-accent: var(--waypost-on-accent, #10131c);
  --_surface: var(--waypost-surface, #171a23); --_raised: var(--waypost-raised, #222633);
  --_text: var(--waypost-text, #eceef5); --_muted: var(--waypost-muted, #a5acbf);
  --_line: var(--waypost-line, #333949); --_alert: var(--waypost-alert, #ff8b94);
  --_shadow: var(--waypost-shadow, 0 12px 40px rgb(0 0 0 / 0.6));
} }
:host([theme="dark"]) {
  --_accent: var(--waypost-accent, #8aa4ff); --_on-accent: var(--waypost-on-accent, #10131c);
  --_surface: var(--waypost-surface, #171a23); --_raised: var(--waypost-raised, #222633);
  --_text: var(--waypost-text, #eceef5); --_muted: var(--waypost-muted, #a5acbf);
  --_line: var(--waypost-line, #333949); --_alert: var(--waypost-alert, #ff8b94);
  --_shadow: var(--waypost-shadow, 0 12px 40px rgb(0 0 0 / 0.6));
}
*, *::before { box-sizing: border-box; }
[hidden] { display: none !important; }
button, a { font: inherit; color: inherit; }
button { background: none; border: 0; padding: 0; cursor: pointer; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; border-radius: 6px; }
svg { display: block; width: 1.25em; height: 1.25em; fill: none; stroke: currentColor; stroke-width: 1.75;
  stroke-linecap: round; stroke-linejoin: round; }

.bell { position: relative; display: grid; place-items: center; inline-size: 40px; block-size: 40px; border-radius: 50%; }
.bell:hover { background: var(--_raised); }
.badge { position: absolute; inset-block-start: 0; inset-inline-end: 0; min-inline-size: 18px; block-size: 18px; padding-inline: 5px;
  border-radius: 9px; background: var(--_alert); color: var(--_surface); font-size: 11px; font-weight: 700; line-height: 18px;
  text-align: center; }
.badge[hidden] { display: none; }

.panel { position: absolute; z-index: 1000; inset-block-start: calc(100% + 8px); inset-inline-end: 0;
  inline-size: min(var(--_width), calc(100vw - 16px)); block-size: min(var(--_height), calc(100vh - 80px)); display: flex;
  flex-direction: column; overflow: hidden; background: var(--_surface); border: 1px solid var(--_line);
  border-radius: var(--_radius); box-shadow: var(--_shadow); }
:host([placement="start"]) .panel { inset-inline: 0 auto; }
:host([inline]) { display: block; block-size: 100%; }
:host([inline]) .bell { display: none; }
:host([inline]) .panel { position: static; inline-size: auto; block-size: 100%; box-shadow: none; }
.panel[hidden] { display: none; }
.head { display: flex; align-items: center; gap: 4px; padding: 12px 12px 8px 16px; padding-inline: 16px 12px; }
.head h2 { flex: 1; margin: 0; font-size: 17px; font-weight: 650; }
.head button { display: inline-flex; align-items: center; gap: 6px; min-block-size: 32px; padding-inline: 8px; border-radius: 8px;
  color: var(--_muted); font-size: 13px; }
.head button:hover:not(:disabled) { background: var(--_raised); color: var(--_text); }
button:disabled { opacity: 0.45; cursor: default; }
.tabs { display: flex; gap: 4px; padding: 0 12px; overflow-x: auto; border-block-end: 1px solid var(--_line); scrollbar-width: none; }
.tab { flex: none; padding: 8px 8px 10px; color: var(--_muted); font-size: 14px; border-block-end: 2px solid transparent; white-space: nowrap; }
.tab[aria-selected="true"] { color: var(--_text); border-color: var(--_accent); font-weight: 600; }
.tab span { margin-inline-start: 4px; padding: 1px 6px; border-radius: 8px; background: var(--_raised); font-size: 11px; font-weight: 600; color: var(--_text); }
.body { flex: 1; min-block-size: 0; overflow-y: auto; overscroll-behavior: contain; }
/* Rows of some 88px, twenty to a leaf. */
.leaf { content-visibility: auto; contain-intrinsic-size: auto 1760px; }
.leaf:has(.menu) { content-visibility: visible; }

.item { position: relative; display: grid; grid-template-columns: 20px 1fr; gap: 0 4px; padding: 12px 12px 12px 4px;
  padding-inline: 4px 12px; border-block-end: 1px solid var(--_line); }
.item:hover, .item:focus-within { background: var(--_raised); }
.dot { inline-size: 8px; block-size: 8px; margin: 7px auto 0; border-radius: 50%; background: var(--_accent); }
.item.is-read .dot { visibility: hidden; }
.main { min-inline-size: 0; }
.open { display: block; inline-size: 100%; text-align: start; font-weight: 650; text-decoration: none; overflow-wrap: anywhere; }
/* What a message says may run the other way than the page: its lines go their own way, from the page's side. */
.open, .text, .foot span, .deed { unicode-bidi: plaintext; text-align: -webkit-match-parent; text-align: match-parent; }
.back:dir(rtl) svg { transform: scaleX(-1); }
.is-read .open { font-weight: 450; }
.open:hover { text-decoration: underline; }
.text { margin: 2px 0 0; color: var(--_muted); white-space: pre-line; overflow-wrap: anywhere; display: -webkit-box;
  -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden; }
.foot { display: flex; flex-wrap: wrap; gap: 4px 8px; margin-block-start: 4px; color: var(--_muted); font-size: 12.5px; }
.deeds { display: flex; flex-wrap: wrap; gap: 8px; margin-block-start: 8px; }
.deed { padding: 5px 12px; border: 1px solid var(--_line); border-radius: 8px; background: var(--_surface); text-decoration: none; font-size: 13.5px; font-weight: 600; }
.deed:first-child { background: var(--_accent); border-color: var(--_accent); color: var(--_on-accent); }
.tools { position: absolute; inset-block-start: 6px; inset-inline-end: 8px; display: flex; gap: 2px; padding: 2px; border-radius: 10px;
  background: var(--_raised); opacity: 0; }
.item:hover .tools, .item:focus-within .tools { opacity: 1; }
/* A finger cannot hover: the tools have a line of their own. */
@media (hover: none) { .tools { position: static; grid-column: 2; justify-content: flex-end; margin-block-start: 2px; background: none; opacity: 1; } }
.tool { display: grid; place-items: center; inline-size: 30px; block-size: 30px; border-radius: 8px; color: var(--_muted); }
.tool:hover { background: var(--_surface); color: var(--_text); }
.menu { position: absolute; z-index: 2; inset-inline-end: 12px; inset-block-start: 44px; min-inline-size: 190px; padding: 6px; background: var(--_surface);
  border: 1px solid var(--_line); border-radius: 10px; box-shadow: var(--_shadow); }
.menu button { display: block; inline-size: 100%; padding: 7px 10px; border-radius: 6px; text-align: start; font-size: 14px; }
.menu button:hover, .menu button:focus-visible { background: var(--_raised); }

.note { display: grid; justify-items: center; gap: 8px; padding: 56px 24px; text-align: center; color: var(--_muted); }
.note svg { inline-size: 40px; block-size: 40px; stroke-width: 1.25; }
.note strong { color: var(--_text); font-weight: 650; }
.note p { margin: 0; }
.again { padding: 7px 14px; border: 1px solid var(--_line); border-radius: 8px; font-weight: 600; color: var(--_text); }
.bone { margin: 14px 16px 14px 24px; margin-inline: 24px 16px; block-size: 52px; border-radius: 8px; background: var(--_raised); }
@media (prefers-reduced-motion: no-preference) { .bone { animation: breathe 1.4s ease-in-out infinite alternate; } }
@keyframes breathe { to { opacity: 0.45; } }
.bar { padding: 6px 16px; background: var(--_raised); color: var(--_muted); font-size: 13px; }
.bar[hidden] { display: none; }
.end { block-size: 1px; }

.wishes { padding: 4px 16px 16px; }
.wishes h3 { margin: 14px 0 4px; font-size: 14px; font-weight: 650; }
.wishes p { margin: 0 0 4px; color: var(--_muted); font-size: 13px; }
.wish { display: flex; align-items: center; justify-content: space-between; gap: 12px; padding: 6px 0; }
.wish input { appearance: none; flex: none; inline-size: 36px; block-size: 20px; margin: 0; border-radius: 10px; background: var(--_muted); position: relative; cursor: pointer; }
.wish input::before { content: ""; position: absolute; inset-block-start: 2px; inset-inline-start: 2px; inline-size: 16px; block-size: 16px; border-radius: 50%; background: var(--_surface); }
.wish input:checked { background: var(--_accent); }
.wish input:checked::before { inset-inline-start: 18px; }
.wish input:disabled { opacity: 0.5; cursor: default; }

.toasts { position: fixed; z-index: 1001; inset-block-end: 16px; inset-inline-end: 16px; display: grid; gap: 8px; inline-size: min(340px, calc(100vw - 32px)); }
.toast { display: grid; grid-template-columns: 1fr auto; gap: 2px 8px; padding: 12px 8px 12px 16px; padding-inline: 16px 8px; background: var(--_surface); border: 1px solid var(--_line);
  border-inline-start: 4px solid var(--_accent); border-radius: 10px; box-shadow: var(--_shadow); }
.toast .text { grid-column: 1; -webkit-line-clamp: 2; }
.hidden { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;

/** Made by script, so that a page whose Content-Security-Policy forbids inline styles needs no exception. */
export const style = new CSSStyleSheet();
style.replaceSync(TEXT);
