"use strict";

const TILES = [
  ["The API", "down", "API is away", "Every request is lost. What is there is unknown then, and nothing may be stopped or called gone.", "no answer"],
  ["The API", "forbidden", "Everything is forbidden", "As when somebody takes lessor's role away.", "403"],
  ["The API", "throttled", "Too many requests", "Every request is put off.", "429"],
  ["The API", "slow", "API is slow", "Answers come after 15 seconds, later than anybody waits.", "timeout"],
  ["The API", "lost", "Next answer gets lost", "The next change is made, and its answer never comes.", "no answer"],
  ["The API", "tokens", "Tokens expire", "Every token that was handed out so far is refused; lessor's own is renewed in its file a moment later.", "401"],
  ["The API", "pages", "Long lists expire", "Pages that were begun cannot be gone on with.", "410"],
  ["The API", "group", "One group is away", "An API group is listed and not served: namespaces cannot go meanwhile.", "503"],
  ["The cluster", "full", "No capacity", "No pod finds a node any more.", "Unschedulable"],
  ["The cluster", "images", "Images cannot be pulled", "Pods hold their GPUs and never run.", "ImagePullBackOff"],
  ["The cluster", "disks", "Disks cannot be deleted", "Volumes stay when their claims are gone.", "VolumeFailedDelete"],
  ["The cluster", "kueue", "Kueue is installed", "The cluster has queues, and workloads that wait in them.", "kueue.x-k8s.io"],
];
const SLIDERS = [["start_seconds", "A pod takes this long to start"], ["stop_seconds", "and this long to stop"]];
const ONCE = new Set(["tokens", "pages"]);
let seen = null;

function button(label, title, act) {
  return element("button", { type: "button", title, onclick: act }, label);
}

function squares(device) {
  const all = Array.from({ length: device.total }, (_, at) => element("span", { class: at < device.used ? "gpu used" : "gpu" }));
  return element("div", {}, element("small", {}, device.name),
    element("div", { class: "gpus", role: "img", "aria-label": `${device.used} of ${device.total} ${device.name} held` }, ...all));
}

function nodeRow(node) {
  const name = !node.ready ? "NotReady" : node.cordoned ? "Cordoned" : "Ready";
  const change = (body) => send(`/_sim/nodes/${node.name}`, body);
  const held = node.devices.map((one) => `${one.used} of ${one.total}`).join(", ");
  return element("tr", { class: name === "Ready" ? "" : "away", "data-node": node.name, "data-key": node.name },
    element("td", {}, element("b", {}, node.name), element("small", {}, node.product || "no GPUs")),
    element("td", {}, ...node.devices.map(squares)),
    element("td", {}, held, " ", state(name)),
    element("td", {}, button(node.cordoned ? "Uncordon" : "Cordon", "Whether new pods may come", () => change({ cordoned: !node.cordoned })),
      button(node.ready ? "Goes away" : "Comes back", "Whether the node answers", () => change({ ready: !node.ready }))));
}

function quota(lines) {
  return element("dl", { class: "quota" }, ...lines.filter((line) => line.hard !== "0").flatMap((line) => [
    element("dt", {}, line.name), element("dd", {}, line.used === null ? `not counted, of ${line.hard}` : `${line.used} of ${line.hard}`)]));
}

function namespaceRow(one) {
  const change = (body) => send(`/_sim/namespaces/${one.name}`, body);
  const told = Object.entries(one.told).map(([name, value]) => element("small", {}, `${name}: ${value}`));
  const gone = one.phase !== "Active";
  return element("tr", { "data-namespace": one.name, "data-key": one.name },
    element("td", { class: "mono" }, one.name, element("small", {}, one.team || "nobody's")),
    element("td", {}, state(one.phase), ...(gone ? one.conditions.map((text) => element("small", {}, text)) : [])),
    element("td", {}, quota(one.quotas)),
    element("td", { class: "told" }, ...told),
    element("td", {}, gone ? "" : button("Run on 1 GPU", "Make a Deployment in it that asks for one GPU", () => change({ run: 1 })),
      button(one.held ? "Let go" : "Hold", "Put an object with a finalizer in it that nobody takes away", () => change({ hold: !one.held }))));
}

function podRow(one) {
  const path = `/_sim/pods/${one.namespace}/${one.name}`;
  const held = Object.entries(one.devices).map(([name, count]) => `${count} × ${name}`).join(", ");
  return element("tr", { "data-key": one.uid }, element("td", { class: "mono" }, one.name, element("small", {}, `${one.namespace}${one.owner ? `, of ${one.owner}` : ""}`)),
    element("td", {}, state(one.phase), one.why ? element("small", {}, one.why) : ""), element("td", {}, held || "none"), element("td", {}, one.node || "none yet"),
    element("td", {}, one.phase === "Running" ? button("Ends well", "Exit code 0", () => send(path, { ends: 0 })) : "",
      one.phase === "Running" ? button("Fails", "Exit code 1", () => send(path, { ends: 1 })) : "", button("Delete", "", () => send(path, { delete: true }))));
}

function diskRow(name, kind, size, phase) {
  return element("tr", { "data-key": `${kind} ${name}` }, element("td", { class: "mono" }, name), element("td", {}, kind), element("td", {}, size), element("td", {}, state(phase)));
}

function heardRow(one) {
  const fine = one.code >= 200 && one.code < 400;
  return element("tr", {}, element("td", { class: "mono" }, new Date(one.at).toLocaleTimeString()), element("td", { class: "mono" }, one.who || "nobody"),
    element("td", {}, one.verb), element("td", { class: "mono" }, one.what), element("td", {}, state(one.code ? String(one.code) : "lost", fine ? "ok" : "bad")));
}

function drawTroubles() {
  for (const [, name] of TILES) {
    const card = $(`tile-${name}`), toggle = card.querySelector("button"), on = seen.troubles[name];
    card.classList.toggle("on", on);
    if (ONCE.has(name)) continue;
    toggle.textContent = on ? "Switch off" : "Switch on";
    toggle.setAttribute("aria-pressed", String(on));
  }
  for (const [name] of SLIDERS) {
    if (document.activeElement !== $(name)) $(name).value = seen.settings[name];
    $(`told-${name}`).textContent = `${seen.settings[name]} s`;
  }
}

function draw(state) {
  seen = state;
  const devices = state.nodes.flatMap((node) => (node.ready && !node.cordoned ? node.devices : []));
  $("figure-free").textContent = devices.reduce((sum, one) => sum + one.total - one.used, 0);
  $("figure-used").textContent = state.nodes.flatMap((node) => node.devices).reduce((sum, one) => sum + one.used, 0);
  $("figure-leases").textContent = state.namespaces.filter((one) => one.lease).length;
  $("clock").textContent = new Date(state.now).toLocaleTimeString();
  fill("nodes", state.nodes.map(nodeRow), "No nodes.");
  fill("namespaces", state.namespaces.map(namespaceRow), "None yet. Ask for a namespace with /gpu request, and choose Our cluster.");
  fill("pods", state.pods.map(podRow), "No pods. Run something in a namespace, here or with kubectl.");
  fill("disks", [...state.claims.map((one) => diskRow(`${one.namespace}/${one.name}`, "claim", one.size, one.phase)),
    ...state.volumes.map((one) => diskRow(one.name, `volume of ${one.claim}`, one.size, one.phase))], "No disks.");
  fill("heard", state.heard.map(heardRow), "No requests yet.");
  drawTroubles();
}

async function refresh() {
  const answer = await fetch("/_sim/state"), text = await answer.text();
  if (text === refresh.last) return;
  draw(JSON.parse(text));
  refresh.last = text;
}

let group = "";
for (const [where, name, title, text, code] of TILES) {
  if (where !== group) $("troubles").append(element("h2", { class: "group" }, where));
  group = where;
  const act = () => send(`/_sim/troubles/${name}`, { on: ONCE.has(name) || !seen.troubles[name] });
  $("troubles").append(element("div", { class: "tile", id: `tile-${name}` },
    element("div", { class: "top" }, element("b", {}, title), element("button", { class: "toggle", type: "button", onclick: act, "aria-pressed": "false" }, ONCE.has(name) ? "Now" : "Switch on")),
    element("p", {}, text), element("code", {}, code)));
}
$("troubles").append(element("div", { class: "tile sliders" }, ...SLIDERS.map(([name, title]) => element("label", {}, title, element("output", { id: `told-${name}` }),
  element("input", { id: name, type: "range", min: 0, max: 60, step: 1, onchange: (event) => send("/_sim/settings", { [name]: Number(event.target.value) }) })))));
keepFresh(refresh, "The simulated cluster does not answer.");
