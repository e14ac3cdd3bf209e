"use strict";

const FAULTS = [
  { name: "greeting", title: "Mail server is closed", text: "Every connection is turned away for now.", on: { greeting: "421 4.3.2 closed for maintenance" }, off: { greeting: "" } },
  { name: "recipient", title: "Nobody of that name", text: "No mailbox is known: the next of the chain is told.", on: { recipient: "550 5.1.1 no such mailbox", whom: "" }, off: { recipient: "" } },
  { name: "data", title: "Mailbox is full for now", text: "Mail is put off: lessor tries again.", on: { data: "452 4.2.2 mailbox full" }, off: { data: "" } },
  { name: "vanish", title: "Answer gets lost", text: "Mail is kept, but the connection breaks before the answer: the same mail comes twice, with one Message-ID.", on: { vanish: true }, off: { vanish: false } },
  { name: "webhook", title: "Webhook fails", text: "Events are answered with 503: on record as a problem, and nobody waits for it.", on: { webhook: 503 }, off: { webhook: 0 } },
];
let open = null, seen = null, asText = false;

async function post(path, body) {
  try {
    const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error((await answer.json()).error || answer.statusText);
    complain("");
  } catch (error) {
    complain(error.message);
  }
  await refresh();
}

function at(instant) {
  return element("time", { class: "mono", datetime: instant, title: instant }, new Date(instant).toLocaleTimeString());
}

function letter(mail) {
  const read = () => { open = mail.number; draw(seen); };
  return element("tr", { class: mail.number === open ? "letter open" : "letter", onclick: read },
    element("td", {}, at(mail.at)), element("td", {}, mail.to.join(", ")),
    element("td", {}, element("button", { type: "button" }, mail.subject)),
    element("td", {}, mail.repeated ? state("second copy", "pending") : ""));
}

function happening(event) {
  const content = event.content;
  return element("tr", { "data-key": event.number }, element("td", {}, at(event.at)), element("td", { class: "mono" }, content.type || "?"),
    element("td", { class: "mono" }, content.id || "?", event.repeated ? state("seen before", "pending") : ""),
    element("td", {}, event.genuine ? state("right", "ok") : state("wrong", "error")),
    element("td", {}, element("details", {}, element("summary", {}, "show"), element("pre", {}, JSON.stringify(content, null, 2)))));
}

function read(mail) {
  $("reading").hidden = !mail;
  if (!mail) return;
  $("subject").textContent = mail.subject;
  $("headers").replaceChildren(...mail.headers.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  if ($("html").dataset.number !== String(mail.number)) {
    $("html").dataset.number = mail.number;
    $("html").src = `/mail/${mail.number}`;
  }
  $("text").textContent = mail.text;
  $("html").hidden = asText;
  $("text").hidden = !asText;
  $("show-text").setAttribute("aria-pressed", String(asText));
  $("show-html").setAttribute("aria-pressed", String(!asText));
}

function draw(state) {
  const on = FAULTS.filter((fault) => Boolean(state.faults[fault.name]));
  $("figure-mails").textContent = state.mails.length;
  $("figure-events").textContent = state.events.length;
  $("figure-faults").textContent = on.length;
  for (const fault of FAULTS) {
    const card = $(`tile-${fault.name}`), button = card.querySelector("button"), isOn = on.includes(fault);
    card.classList.toggle("on", isOn);
    button.textContent = isOn ? "Switch off" : "Switch on";
    button.setAttribute("aria-pressed", String(isOn));
  }
  fill("mails", state.mails.map(letter), "No mail yet. Break Slack on its page (its failures), then wait for a notice: it arrives here instead.");
  fill("events", state.events.map(happening), "No events yet. Each notice of a lease is posted here.");
  read(state.mails.find((mail) => mail.number === open));
}

async function refresh() {
  const answer = await fetch("/api/mail"), text = await answer.text();
  if (text === refresh.last) return;
  seen = JSON.parse(text);
  draw(seen);
  refresh.last = text;
}

for (const fault of FAULTS) {
  const toggle = () => post("/api/faults", seen.faults[fault.name] ? fault.off : fault.on);
  $("faults").append(element("div", { class: "tile", id: `tile-${fault.name}` },
    element("div", { class: "top" }, element("b", {}, fault.title), element("button", { class: "toggle", type: "button", onclick: toggle, "aria-pressed": "false" }, "Switch on")),
    element("p", {}, fault.text)));
}
$("clear").addEventListener("click", () => { open = null; post("/api/clear", {}); });
$("show-text").addEventListener("click", () => { asText = true; draw(seen); });
$("show-html").addEventListener("click", () => { asText = false; draw(seen); });
keepFresh(refresh, "The simulated mailbox does not answer.");
