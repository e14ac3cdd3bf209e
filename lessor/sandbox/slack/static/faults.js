// The panel that makes the sandbox misbehave, and shows what it refused.

import { call } from "./api.js";
import { $, h, toast } from "./dom.js";

const OFFERED = [
  ["Rate-limit the next message", "429 with Retry-After: 3", { kind: "rate_limit", on: "chat.postMessage", retry_after: 3 }],
  ["Lose the answer to the next message", "It is posted, but the app never hears", { kind: "lose_answer", on: "chat.postMessage" }],
  ["Lose the next message", "The connection breaks, nothing is posted", { kind: "lose_request", on: "chat.postMessage" }],
  ["Be slow for the next 5 calls", "2.5 seconds each", { kind: "slow", on: "*", times: 5, seconds: 2.5 }],
  ["Be down for the next 10 calls", "HTTP 503", { kind: "down", on: "*", times: 10 }],
  ["Refuse the next card update", "message_not_found", { kind: "error", on: "chat.update", error: "message_not_found" }],
  ["Expire the next trigger id", "expired_trigger_id", { kind: "expire_trigger", on: "*" }],
  ["Expire it the other way", "invalid_arguments", { kind: "expire_trigger", on: "*", shape: "arguments" }],
  ["Deliver the next act twice", "Same envelope", { kind: "duplicate", on: "*", copies: 1 }],
  ["Deliver it 11 times", "New envelope and event ids", { kind: "duplicate", on: "*", copies: 10, ids: "new" }],
  ["Ignore the next acknowledgement", "It is delivered again", { kind: "ignore_ack", on: "*" }],
  ["Lose the next delivery", "The app only sees the retry", { kind: "lose_delivery", on: "*" }],
];

export async function openFaults() {
  await redraw();
  $("faults").showModal();
}

async function redraw() {
  const [set, switches, calls] = await Promise.all([call("GET", "faults"), call("GET", "switches"), call("GET", "calls")]);
  const refused = calls.filter((one) => one.outcome !== "ok").slice(-8).reverse();
  const dialog = $("faults");
  dialog.replaceChildren(
    h("div", { class: "modal-head" }, h("h2", {}, "Make it fail"), h("button", { class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() }, "×")),
    h("div", { class: "modal-body" },
      h("p", { class: "hint" }, "Each button sets a fault for what comes next. The app has to cope."),
      h("div", { class: "fault-grid" }, OFFERED.map(([name, about, fault]) => h("button", { class: "fault", onclick: () => add(fault) }, h("strong", {}, name), h("span", { class: "hint" }, about)))),
      h("h3", {}, "Connection"),
      h("div", { class: "fault-row" },
        h("span", {}, switches.http_target ? `Signed HTTP to ${switches.http_target}` : `${switches.connections} Socket Mode connection${switches.connections === 1 ? "" : "s"}`),
        h("button", { class: "button", onclick: () => disconnect("refresh") }, "Ask to reconnect"), h("button", { class: "button", onclick: () => disconnect("drop") }, "Cut"),
        h("label", { class: "choice" }, h("input", { type: "checkbox", checked: switches.rate_limits, onchange: (event) => flip({ rate_limits: event.target.checked }) }), h("span", {}, "Real rate limits"))),
      h("h3", {}, "Set now"),
      set.length ? h("ul", { class: "fault-list" }, set.map((one) => h("li", {}, `${one.kind} on ${one.on}, ${one.times ?? "∞"} left`, h("button", { class: "link-button", onclick: () => remove(one.id) }, "Remove"))))
        : h("p", { class: "hint" }, "Nothing: the sandbox behaves."),
      h("h3", {}, "Recently refused"),
      refused.length ? h("ul", { class: "fault-list" }, refused.map((one) => h("li", {}, h("code", {}, one.method), ` ${one.outcome}`))) : h("p", { class: "hint" }, "No call was refused.")));
}

async function add(fault) {
  await call("POST", "faults", fault);
  toast("Set. It will happen at the next occasion.");
  await redraw();
}

async function remove(id) {
  await call("DELETE", `faults/${id}`);
  await redraw();
}

async function flip(switches) {
  await call("POST", "switches", switches);
  await redraw();
}

async function disconnect(how) {
  const { disconnected } = await call("POST", "disconnect", { how });
  toast(`${disconnected} connection(s) taken away.`);
  await redraw();
}
