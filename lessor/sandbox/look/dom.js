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

function fill(id, rows, nothing) {
  const columns = $(id).tHead.rows[0].cells.length;
  const empty = element("tr", {}, element("td", { class: "empty", colspan: columns }, nothing));
  $(id).tBodies[0].replaceChildren(...(rows.length ? rows : [empty]));
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
