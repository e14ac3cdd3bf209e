"use strict";

const USES = [
  ["busy", "Busy", "Trains: engine, memory and power are high"],
  ["idle", "Idle", "Nothing runs"],
  ["held", "Memory held", "A loaded model that waits, or a process that hangs: memory is full, nothing is computed"],
  ["preparing", "Prepares data", "The processor and the disk work, the GPUs do not yet"],
  ["typing", "Somebody types", "A login with a person at the keyboard; the GPUs do nothing"],
  ["stuck", "Stuck card", "Full utilisation without any process: a broken card, and no use of its owner"],
];
const TILES = [
  { name: "down", title: "Prometheus is down", text: "Every query gets 503. Nothing may be stopped for that: unknown is not idle.", code: "HTTP 503" },
  { name: "slow", title: "Prometheus is slow", text: "Answers come after 30 seconds, later than anybody waits.", code: "timeout" },
  { name: "empty", title: "Prometheus has lost its data", text: "Queries succeed and find nothing, as after a restart with an empty disk.", code: "0 series" },
];
let seen = null;

function choice(label, title, pressed, act, kind = "") {
  return element("button", { type: "button", class: kind, title, "aria-pressed": String(pressed), onclick: act }, label);
}

function gpu(load, index) {
  const percent = (share) => `${Math.round(share * 100)} %`;
  const title = `GPU ${index}: engine ${percent(load.engine)}, memory ${percent(load.memory)}`;
  return element("span", { class: `gpu ${load.use}`, role: "img", "aria-label": title, title },
    element("i", { style: `--part:${load.engine * 100}%` }), element("i", { class: "memory", style: `--part:${load.memory * 100}%` }));
}

function happens(machine, change) {
  const doing = machine.doing, most = machine.gpus;
  const number = element("input", { type: "number", min: 0, max: most, value: doing.working ?? most, "aria-label": `GPUs that take part, of ${most}`,
    oninput: ({ target }) => target.value && target.validity.valid && change({ working: Number(target.value) >= most ? null : Number(target.value) }) });
  const mig = element("input", { type: "checkbox", checked: doing.mig ? "" : null, onchange: (event) => change({ mig: event.target.checked }) });
  return element("td", {},
    element("div", { class: "choices", role: "group", "aria-label": "What happens on it" },
      ...USES.map(([use, label, title]) => choice(label, title, doing.use === use, () => change({ use })))),
    element("div", { class: "more" },
      most > 1 ? element("label", {}, number, `of ${most} GPUs`) : "",
      element("label", { title: "Each GPU is cut into seven slices, of which one works. Their utilisation is 0 whatever they do." }, mig, "MIG slices")));
}

function measured(machine, change) {
  const doing = machine.doing, gone = doing.exporter === "gone", gap = machine.silent > 0;
  return element("td", {},
    element("div", { class: "choices", role: "group", "aria-label": "What is measured of it" },
      choice(gap ? `Gap: ${machine.silent} s` : "Gap of 1 min", "Nothing of the machine is measured for a minute", gap, () => change({ gap: gap ? 0 : 60 }), "warn"),
      choice(gone ? "Exporter gone" : "Exporter goes", "What measures the GPUs stops; the machine's own heartbeat goes on", gone, () => change({ exporter: gone ? "up" : "gone" }), "warn"),
      choice("Restart exporter", "It begins anew, and what it counted with it", false, () => change({ restart: true })),
      choice("Clock 10 min fast", "Its samples come from the future", doing.ahead > 0, () => change({ ahead: doing.ahead > 0 ? 0 : 600 }), "warn"),
      choice("No labels", "No series says whose it is", !doing.labelled, () => change({ labelled: !doing.labelled }), "warn")));
}

function isUnmeasured(machine) {
  return machine.silent > 0 || machine.doing.exporter === "gone" || seen.answers !== "well";
}

function row(machine) {
  const change = (changes) => send(`/_sim/machines/${machine.id}`, changes);
  const made = element("tr", { class: isUnmeasured(machine) ? "unmeasured" : "", "data-machine": machine.id, "data-key": machine.id },
    element("td", { class: "mono" }, machine.lease || "no lease", element("small", {}, machine.id), element("small", {}, `${machine.type}, ${machine.gpus} × ${machine.model}`)),
    element("td", {}, element("div", { class: "gpus" }, ...machine.loads.map(gpu))),
    happens(machine, change), measured(machine, change));
  return made;
}

function question(one) {
  const kind = one.outcome.endsWith("series") || one.outcome === "a number" ? "well" : "error";
  const made = element("details", {}, element("summary", {}, one.query.split("\n")[0]), element("pre", {}, one.query));
  return element("tr", {}, element("td", { class: "mono" }, new Date(one.at * 1000).toLocaleTimeString()),
    element("td", {}, state(one.outcome, kind)), element("td", { class: "mono" }, `${Math.round(one.seconds * 1000)} ms`), element("td", {}, made));
}

function drawTiles() {
  for (const tile of TILES) {
    const card = $(`tile-${tile.name}`), button = card.querySelector("button"), on = seen.answers === tile.name;
    card.classList.toggle("on", on);
    button.textContent = on ? "Switch off" : "Switch on";
    button.setAttribute("aria-pressed", String(on));
  }
  $("newcomers").value = seen.newcomers;
}

function draw(state) {
  seen = state;
  const loads = state.machines.flatMap((machine) => machine.loads);
  $("figure-gpus").textContent = loads.length;
  $("figure-working").textContent = loads.filter((load) => load.engine > 0).length;
  $("figure-unmeasured").textContent = state.machines.filter(isUnmeasured).length;
  fill("machines", state.machines.map(row), "Nothing with GPUs runs. Ask for some in Slack (/gpu request): machines appear here once they run, and pods of the cluster.");
  fill("asked", state.asked.map((one) => question(one)), "Nobody has asked yet.");
  drawTiles();
  if (state.unseen) complain(state.unseen);
}

let drawn = "";

async function refresh() {
  const text = await (await fetch("/_sim/state")).text(), state = JSON.parse(text);
  const same = JSON.stringify({ ...state, now: 0 });
  if (same !== drawn) draw(state);
  drawn = same;
}

function begin() {
  const choose = element("select", { id: "newcomers", "aria-label": "New machines begin", onchange: (event) => send("/_sim/switches", { newcomers: event.target.value }) },
    ...USES.map(([use, label]) => element("option", { value: use }, label)));
  const tiles = TILES.map((tile) => element("div", { class: "tile", id: `tile-${tile.name}` },
    element("div", { class: "top" }, element("b", {}, tile.title),
      element("button", { class: "toggle", type: "button", "aria-pressed": "false", onclick: () => send("/_sim/switches", { answers: seen.answers === tile.name ? "well" : tile.name }) }, "Switch on")),
    element("p", {}, `${tile.text} `, element("code", {}, tile.code))));
  $("switches").append(
    element("div", { class: "group" }, element("h2", {}, "The Prometheus"), ...tiles),
    element("div", { class: "group" }, element("h2", {}, "New machines"), element("div", { class: "tile" },
      element("p", {}, "What a machine does from its start on, until you say otherwise."), choose)));
  $("all-busy").addEventListener("click", () => send("/_sim/machines", { use: "busy", working: null }));
  $("all-idle").addEventListener("click", () => send("/_sim/machines", { use: "idle", working: null }));
}

begin();
keepFresh(refresh, "The simulated GPUs do not answer.");
