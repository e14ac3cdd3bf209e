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
