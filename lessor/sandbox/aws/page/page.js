"use strict";

const LEASE = "lessor:lease";
let switches = null;

async function post(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error || answer.statusText);
  return said;
}

async function act(calls) {
  try {
    for (const [name, values] of calls) await post(`/_sim/switches/${name}`, values);
    complain("");
  } catch (error) {
    complain(error.message);
  }
  await refresh();
}

function field(name, initial) {
  const label = name.replaceAll("_", " ");
  if (!Array.isArray(initial)) return element("label", {}, label, element("input", { name, value: initial, size: 8 }));
  return element("label", {}, label, element("select", { name }, ...initial.map((option) => element("option", {}, option))));
}

function tile(spec) {
  const form = element("form", { onsubmit: (event) => event.preventDefault() }, ...Object.entries(spec.inputs || {}).map(([n, v]) => field(n, v)));
  const toggle = () => {
    const values = Object.fromEntries(new FormData(form));
    act(spec.isOn(switches) && spec.off ? spec.off(switches) : spec.on(values));
  };
  return element("div", { class: "tile", id: `tile-${spec.id}` },
    element("div", { class: "top" }, element("b", {}, spec.title), element("button", { class: "toggle", type: "button", onclick: toggle, "aria-pressed": "false" }, "Switch on")),
    element("p", {}, `${spec.text} `, element("code", {}, spec.code)), form);
}

function drawTiles() {
  for (const { group, tiles } of TILES) $("switches").append(element("div", { class: "group" }, element("h2", {}, group), ...tiles.map(tile)));
}

function updateTiles() {
  let on = 0;
  for (const spec of TILES.flatMap((group) => group.tiles)) {
    const card = $(`tile-${spec.id}`), isOn = spec.isOn(switches), button = card.querySelector("button.toggle");
    card.classList.toggle("on", isOn);
    button.textContent = isOn ? (spec.off ? "Switch off" : "Is on") : "Switch on";
    button.setAttribute("aria-pressed", String(isOn));
    on += isOn;
  }
  $("figure-switches").textContent = on;
}

function instanceRow(i) {
  const dead = i.state === "terminated";
  const button = (text, title, name, values) => element("button", { title, onclick: () => act([[name, { instance_id: i.id, ...values }]]) }, text);
  const market = [i.market === "on-demand" ? null : i.market, i.group ? `group ${i.group}` : null, i.protected ? "protected" : null].filter(Boolean).join(", ");
  const events = dead ? [] : [
    i.market === "spot" ? button("Interrupt", "AWS takes the spot machine back", "interrupt_spot") : "",
    i.state === "running" ? button("Stop", "Somebody stops it in the console", "stop") : "",
    button("Terminate", "Somebody ends it in the console", "terminate"),
    i.protected ? button("Unprotect", "Termination protection off", "protect", { on: false }) : button("Protect", "Termination protection on", "protect", { on: true }),
    button("Add disk", "A user attaches a disk that survives termination", "attach_volume"),
    button("Add address", "A user attaches an elastic address, which stays and costs", "associate_address"),
  ];
  return element("tr", { class: dead ? "dead" : "", "data-key": i.id },
    element("td", { class: "mono" }, i.id, element("small", {}, `since ${i.launched_at.slice(11, 19)}`)),
    element("td", {}, state(i.state), element("small", {}, i.reason)),
    element("td", {}, i.type, element("small", {}, market)),
    element("td", {}, i.zone, element("small", {}, i.account)),
    element("td", { class: "mono" }, i.tags[LEASE] || "none", element("small", {}, i.tags["lessor:ends"] ? `ends ${i.tags["lessor:ends"].slice(0, 16).replace("T", " ")}` : "")),
    element("td", {}, ...events));
}

function leftoverRow(r) {
  return element("tr", { "data-key": r.id }, element("td", {}, r.kind), element("td", { class: "mono" }, r.id), element("td", {}, state(r.state)),
    element("td", { class: "mono" }, r.attached_to || ""), element("td", { class: "mono" }, r.tags[LEASE] || "none"), element("td", {}, r.tags["lessor:managed-by"] || "nobody"));
}

function callRow(c) {
  const lost = c.delivery !== "answered";
  const result = lost ? state(c.delivery.replace("-", " "), "lost") : c.error ? state(c.error, "error") : state("ok");
  return element("tr", {}, element("td", { class: "mono" }, c.at.slice(11, 19)),
    element("td", {}, c.action, element("small", {}, `${c.service} ${c.region}`)), element("td", {}, result),
    element("td", { class: "mono" }, c.summary), element("td", { class: "mono" }, c.principal, element("small", {}, c.account)));
}

function draw(s) {
  switches = s.switches;
  const alive = s.instances.filter((i) => i.state !== "terminated").length;
  $("clock").textContent = `${s.now.slice(0, 19).replace("T", " ")} UTC`;
  $("figure-instances").textContent = alive;
  $("figure-leftovers").textContent = s.leftovers.length;
  $("figure-calls").textContent = Object.values(s.counts).reduce((a, b) => a + b, 0);
  fill("instances", s.instances.reverse().map(instanceRow), "No machine has been started yet.");
  fill("leftovers", s.leftovers.map(leftoverRow), "Nothing exists. Nothing costs anything.");
  fill("calls", s.calls.map(callRow), "Nobody has called yet.");
  updateTiles();
}

let drawn = "";

async function refresh() {
  const text = await (await fetch("/_sim/state")).text();
  const s = JSON.parse(text), same = JSON.stringify({ ...s, now: "" });
  if (same !== drawn) draw(s);
  else $("clock").textContent = `${s.now.slice(0, 19).replace("T", " ")} UTC`;
  drawn = same;
}

document.querySelectorAll("[data-advance]").forEach((button) => {
  button.addEventListener("click", () => act([["advance", { seconds: Number(button.dataset.advance) }]]));
});
$("reset").addEventListener("click", async () => {
  if (!confirm("Remove every machine and switch off every failure? lessor will find that its machines are gone.")) return;
  await post("/_sim/reset", {});
  await refresh();
});
drawTiles();
keepFresh(refresh, "The simulated AWS does not answer.");
