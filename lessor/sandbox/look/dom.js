"use strict";

const $ = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function complain(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

function state(name, kind = name) {
  return element("span", { class: `state ${kind}` }, name);
}

// Show these rows. Those that are drawn as before stay, with what is focused, opened or selected in them; of a row that
// changed (the same `data-key`) only the cells that changed are replaced, and none in which somebody types.
function fill(id, rows, nothing) {
  const body = $(id).tBodies[0], columns = $(id).tHead.rows[0].cells.length, old = new Map();
  const empty = element("tr", {}, element("td", { class: "empty", colspan: columns }, nothing));
  for (const row of body.rows) old.set(keyOf(row), [...(old.get(keyOf(row)) || []), row]);
  const shown = (rows.length ? rows : [empty]).map((made) => {
    for (const part of [made, ...made.cells]) part.drawn = part.outerHTML;
    return keptRow((old.get(keyOf(made)) || []).shift(), made);
  });
  for (const row of [...body.rows]) if (!shown.includes(row)) row.remove();
  shown.forEach((row, at) => body.rows[at] === row || body.insertBefore(row, body.rows[at] || null));
}

function keyOf(row) {
  return row.dataset.key ?? row.drawn;
}

function keptRow(before, made) {
  if (!before) return made;
  if (before.drawn === made.drawn) return before;
  const typed = document.activeElement;
  let whole = true;
  before.className = made.className;
  [...made.cells].forEach((cell, at) => {
    const old = before.cells[at];
    if (old.drawn === cell.drawn) return;
    if (old.contains(typed) && typed.tagName === "INPUT") { whole = false; return; }
    const focused = controlsIn(old).indexOf(typed);
    old.replaceWith(cell);
    if (focused >= 0) controlsIn(cell)[focused]?.focus();
  });
  if (whole) before.drawn = made.drawn;
  return before;
}

function controlsIn(part) {
  return [...part.querySelectorAll("button, input, select, summary")];
}

// Ask again and again as long as somebody looks; `away` is told while there is no answer.
async function keepFresh(refresh, away) {
  try {
    if (!document.hidden) await refresh();
    if ($("problem").dataset.offline) { complain(""); delete $("problem").dataset.offline; }
  } catch {
    complain(away);
    $("problem").dataset.offline = "yes";
  }
  setTimeout(keepFresh, 1000, refresh, away);
}

// Ask the page's server to change something; what it shows then is drawn by the page's own `draw`.
async function send(path, body = {}) {
  try {
    const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error || answer.statusText);
    complain("");
    draw(said);
  } catch (error) {
    complain(error.message);
  }
}
