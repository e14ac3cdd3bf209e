// Slack's mrkdwn to DOM nodes. Text arrives escaped (&amp; &lt; &gt;); only <…> sequences are live.

import { h } from "./dom.js";
import { EMOJI } from "./emoji.js";
import { formatted, full } from "./times.js";

const decode = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

// `look` names people and channels and knows the viewer: { person(id), channel(id), group(id), me, zone }.
export function mrkdwn(text, look) {
  const nodes = [];
  const pieces = text.split(/```([\s\S]*?)```/);
  pieces.forEach((piece, index) => {
    if (index % 2) nodes.push(h("pre", {}, code(piece.replace(/^\n/, ""))));
    else if (piece) nodes.push(...lines(piece, look));
  });
  return nodes;
}

export function plain(text, look, emoji = true) {
  return emoji ? withEmoji(decode(text)) : [decode(text)];
}

function code(text) {
  return h("code", {}, decode(text.replace(/<([^|>]+)(?:\|([^>]+))?>/g, (_, target, label) => label || target)));
}

function lines(text, look) {
  const nodes = [];
  let quoted = [];
  const flush = () => {
    if (quoted.length) nodes.push(h("blockquote", {}, quoted.flatMap((line, at) => (at ? [h("br"), ...inline(line, look)] : inline(line, look)))));
    quoted = [];
  };
  text.split("\n").forEach((line, index, all) => {
    const quote = /^(?:&gt;|>) ?(.*)$/.exec(line);
    if (quote) quoted.push(quote[1]);
    else {
      const afterQuote = quoted.length > 0;
      flush();
      if (index && !afterQuote) nodes.push(h("br"));
      if (line || index < all.length - 1) nodes.push(...inline(line, look));
    }
  });
  flush();
  return nodes;
}

const INLINE = new RegExp(
  [
    "`([^`\\n]+)`",
    "<([^<>\\n]+)>",
    "(?<![\\w*])\\*(?=\\S)([^*\\n]*[^*\\s])\\*(?![\\w*])",
    "(?<![\\w_])_(?=\\S)([^_\\n]*[^_\\s])_(?![\\w_])",
    "(?<![\\w~])~(?=\\S)([^~\\n]*[^~\\s])~(?![\\w~])",
  ].join("|"),
  "g",
);

function inline(text, look) {
  const nodes = [];
  let position = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(...withEmoji(decode(text.slice(position, match.index))));
    position = match.index + match[0].length;
    const [, literal, control, bold, italic, strike] = match;
    if (literal !== undefined) nodes.push(code(literal));
    else if (control !== undefined) nodes.push(live(control, look));
    else if (bold !== undefined) nodes.push(h("strong", {}, inline(bold, look)));
    else if (italic !== undefined) nodes.push(h("em", {}, inline(italic, look)));
    else nodes.push(h("s", {}, inline(strike, look)));
  }
  nodes.push(...withEmoji(decode(text.slice(position))));
  return nodes;
}

function live(control, look) {
  const [target, label] = split(control);
  if (target.startsWith("@")) return mention(`@${look.person(target.slice(1)) ?? label ?? target.slice(1)}`, target.slice(1) === look.me);
  if (target.startsWith("#")) return h("span", { class: "mention" }, `#${label || look.channel(target.slice(1)) || target.slice(1)}`);
  if (target.startsWith("!date^")) return date(target, label, look);
  if (target.startsWith("!subteam^")) return mention(label || `@${look.group(target.slice(9)) ?? target.slice(9)}`, false);
  if (/^!(here|channel|everyone)$/.test(target)) return mention(`@${target.slice(1)}`, true);
  if (target.startsWith("!")) return document.createTextNode(`<${label || target}>`);
  return link(target, label ?? target);
}

function split(control) {
  const bar = control.indexOf("|");
  return bar < 0 ? [control, undefined] : [control.slice(0, bar), control.slice(bar + 1)];
}

export function mention(text, mine) {
  return h("span", { class: `mention ${mine ? "mine" : ""}` }, decode(text));
}

export function link(target, label) {
  const address = decode(target);
  if (!/^(https?:|mailto:|slack:)/i.test(address)) return document.createTextNode(`<${decode(label)}>`);
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, withEmoji(decode(label)));
}

function date(target, fallback, look) {
  const [, seconds, format, address] = target.split("^");
  if (!/^\d+$/.test(seconds)) return document.createTextNode(decode(fallback || ""));
  const shown = h("time", { datetime: new Date(seconds * 1000).toISOString(), title: full(seconds, look.zone) },
    decode(formatted(Number(seconds), format || "{date}", look.zone)));
  return address ? h("a", { href: decode(address), target: "_blank", rel: "noopener noreferrer" }, shown) : shown;
}

export function withEmoji(text) {
  return text.split(/(:[a-z0-9_+-]+:)/).filter(Boolean).map((piece) => {
    const name = piece.startsWith(":") && piece.endsWith(":") ? piece.slice(1, -1) : "";
    return EMOJI[name] ? h("span", { class: "emoji", role: "img", "aria-label": name.replaceAll("_", " ") }, EMOJI[name]) : piece;
  });
}
