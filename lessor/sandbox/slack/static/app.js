// The page: who one is, where one looks, and redrawing what changed.

import { act, call, listen } from "./api.js";
import { draftKey, drawComposer } from "./composer.js";
import { $, forget, paint } from "./dom.js";
import { openFaults } from "./faults.js";
import { drawHeading, drawHome, drawMessages, drawThread } from "./messages.js";
import { drawModal } from "./modal.js";
import { released } from "./pressing.js";
import { drawSidebar } from "./sidebar.js";

const page = { workspace: null, me: null, place: "", thread: "", tab: "messages", state: null, drafts: {}, focusTs: "" };

function readAddress() {
  const [first, second, third] = decodeURIComponent(location.hash.slice(1)).split("/");
  const person = page.workspace.people.find((one) => one.name === first || one.id === first);
  const fallback = page.me ?? page.workspace.people.find((one) => !one.deleted);
  page.me = person && !person.deleted ? person : fallback;
  const place = person ? second : first;
  page.place = place || page.place || page.workspace.channels.find((one) => one.members.includes(page.me.id))?.id || page.workspace.app.name;
  page.thread = person ? third || "" : "";
  page.focusTs = person ? "" : second || "";
}

// Go somewhere: { me, place, thread, tab }; parts left out stay as they are.
function go(where) {
  if (where.me && where.me.id !== page.me.id) {
    page.thread = "";
    if (page.state?.conversations.find((one) => one.id === page.place)?.kind !== "channel") page.place = page.workspace.app.name;
  }
  Object.assign(page, where);
  if (where.place !== undefined && where.thread === undefined) page.thread = "";
  if (where.place !== undefined && where.tab === undefined) page.tab = "messages";
  document.body.classList.remove("menu-open");
  $("menu").setAttribute("aria-expanded", "false");
  history.replaceState(null, "", `#${[page.me.name, page.place, page.thread].filter(Boolean).map(encodeURIComponent).join("/")}`);
  forget("composer");
  // What is typed from now on belongs to the new place, though that is still on its way.
  if (page.state) paintComposer(tools());
  return refresh(true);
}

let running = null;
let pending = false;
let jump = false;

// One load at a time; whatever changes meanwhile causes one more.
function refresh(moved = false) {
  pending = true;
  jump = jump || moved;
  running ??= run().finally(() => (running = null));
  return running;
}

async function run() {
  while (pending) {
    pending = false;
    const moved = jump;
    jump = false;
    await load(moved);
  }
}

const whereabouts = () => JSON.stringify([page.me.id, page.place, page.thread, page.tab]);

async function load(moved) {
  const asked = whereabouts();
  const query = new URLSearchParams({ channel: page.place, thread: page.thread });
  let state;
  try {
    state = await call("GET", `people/${page.me.id}/state?${query}`);
  } catch (error) {
    // Unreachable: the stream reconnects and asks again. Refused: the place is not this person's, so go to the app's.
    if (error instanceof TypeError) return;
    if (asked === whereabouts() && !(await elsewhere())) return;
    pending = jump = true;
    return;
  }
  await released();
  if (asked !== whereabouts()) {
    // Somebody went elsewhere while this was on its way: what came back is about the old place.
    pending = true;
    jump = jump || moved;
    return;
  }
  page.state = state;
  arrive(state.channel);
  page.workspace.people.forEach((one) => (one.deleted = state.accounts[one.id].deleted));
  if (moved && page.tab === "home") act(page.me.id, "open-home", {});
  draw(moved);
  const here = page.state.conversations.find((one) => one.id === page.place);
  if (here?.unread && document.hasFocus() && page.tab === "messages") act(page.me.id, "read", { channel: page.place });
}

// A place may be asked for by name; what was typed meanwhile goes with it to its id.
function arrive(channel) {
  const named = draftKey(page, page.place, "");
  if (channel !== page.place && page.drafts[named]) {
    page.drafts[draftKey(page, channel, "")] = page.drafts[named];
    delete page.drafts[named];
  }
  page.place = channel;
}

// To the app's conversation, or when even that is refused, to somebody whose account still works.
async function elsewhere() {
  if (page.place !== page.workspace.app.name) {
    Object.assign(page, { place: page.workspace.app.name, thread: "" });
    return true;
  }
  page.workspace = await call("GET", "workspace");
  const before = page.me.id;
  page.me = page.workspace.people.find((one) => one.id === before && !one.deleted) ?? page.workspace.people.find((one) => !one.deleted) ?? page.me;
  return page.me.id !== before;
}

const tools = () => ({ page, go, refresh, act: (name, body) => act(page.me.id, name, body), look: look() });

const whose = () => [page.me.id, page.place, page.tab];

function paintComposer(around) {
  paint("composer", whose(), () => (page.tab === "home" ? null : drawComposer(around, "")));
}

function draw(moved) {
  const scroller = $("scroller");
  const atEnd = moved || scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
  const now = tools();
  const base = whose();
  paint("sidebar", [base, page.state.conversations, page.state.people, page.state.accounts], () => drawSidebar(now));
  paint("heading", [base, page.state.conversations], () => drawHeading(now));
  let toEnd = false;
  if (page.tab === "home") paint("content", [base, page.state.home], () => drawHome(now));
  else {
    toEnd = paint("content", [base, page.state.messages], () => drawMessages(now)) && atEnd;
  }
  paintComposer(now);
  $("thread").hidden = !page.thread;
  document.body.classList.toggle("thread-open", Boolean(page.thread));
  paint("thread", [base, page.thread, page.state.thread], () => (page.thread ? drawThread(now) : null));
  drawModal(now);
  if (toEnd) scroller.scrollTop = scroller.scrollHeight;
  if (page.focusTs) document.querySelector(`[data-ts="${page.focusTs}"]`)?.scrollIntoView({ block: "center" });
  document.title = `${page.me.role} · Slack sandbox`;
}

function look() {
  const { people, channels, usergroups, app } = page.workspace;
  return {
    me: page.me.id,
    zone: page.me.tz,
    person: (id) => (id === app.bot_user_id ? app.name : people.find((one) => one.id === id || one.enterprise_id === id)?.role),
    channel: (id) => channels.find((one) => one.id === id)?.name,
    group: (id) => usergroups.find((one) => one.id === id)?.handle,
  };
}

async function start() {
  page.workspace = await call("GET", "workspace");
  readAddress();
  await go({});
  listen(() => refresh(), (connected) => {
    $("connection").textContent = connected ? "" : "Reconnecting…";
    document.body.dataset.live = String(connected);
  });
  addEventListener("hashchange", () => { readAddress(); go({ thread: page.thread, place: page.place }); });
  addEventListener("focus", () => refresh());
  $("menu").addEventListener("click", () => {
    const open = document.body.classList.toggle("menu-open");
    $("menu").setAttribute("aria-expanded", String(open));
  });
  $("faults-open").addEventListener("click", openFaults);
}

start();
