// Building and replacing parts of the page without ever treating what people or apps wrote as HTML.

export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const $ = (id) => document.getElementById(id);

const painted = new Map();

// Rebuild a region only when what it shows changed, and put the caret back where it was.
export function paint(id, shown, build) {
  const key = JSON.stringify(shown);
  if (painted.get(id) === key) return false;
  painted.set(id, key);
  const region = $(id);
  const focused = region.contains(document.activeElement) ? document.activeElement : null;
  const caret = focused && focused.dataset.testid;
  const range = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
  const scrolled = [...region.querySelectorAll("[data-keep-scroll]")].map((node) => node.scrollTop);
  region.replaceChildren(...[build()].flat().filter(Boolean));
  region.querySelectorAll("[data-keep-scroll]").forEach((node, index) => (node.scrollTop = scrolled[index] ?? 0));
  if (caret) {
    const again = region.querySelector(`[data-testid="${CSS.escape(caret)}"]`);
    if (again) {
      again.focus({ preventScroll: true });
      if (range && range[0] !== null) try { again.setSelectionRange(...range); } catch { /* dates have no caret */ }
    }
  }
  return true;
}

export function forget(id) {
  painted.delete(id);
}

let hiding;
export function toast(message) {
  const box = $("toast");
  box.textContent = message;
  box.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (box.hidden = true), 5000);
}

const HUES = ["#d9730d", "#2f7ebf", "#7a52b8", "#2a8a5f", "#b8405e", "#8a6d1f", "#46628c"];

export function avatar(name, size = "") {
  const words = name.replace(/[^\p{L}\p{N} ]/gu, " ").trim().split(/\s+/);
  const initials = words.length > 1 ? words[0][0] + words[1][0] : words[0].slice(0, 1);
  const hue = [...name].reduce((sum, letter) => (sum * 41 + letter.codePointAt(0)) % 9973, 7) % HUES.length;
  return h("span", { class: `avatar ${size}`, style: `background:${HUES[hue]}`, "aria-hidden": "true" }, initials.toUpperCase());
}

export function appAvatar(size = "") {
  return h("img", { class: `avatar ${size}`, src: "/static/icon.svg", alt: "" });
}
