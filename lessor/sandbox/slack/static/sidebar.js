// The sidebar: who one is, channels, the app, people.

import { openAccount, statusMark } from "./account.js";
import { appAvatar, avatar, h } from "./dom.js";

export function drawSidebar(tools) {
  const { page, go } = tools;
  const { workspace, state, me } = page;
  const channels = state.conversations.filter((one) => one.kind === "channel");
  const app = state.conversations.find((one) => one.kind === "app");
  return [
    h("div", { class: "workspace-name" }, h("span", {}, workspace.team_name), h("span", { class: "sandbox-tag" }, "sandbox")),
    h("div", { class: "side-label", id: "be-label" }, "You are"),
    h("div", { class: "people", role: "radiogroup", "aria-labelledby": "be-label" }, workspace.people.filter((one) => !one.is_bot).map((one) => person(one, tools))),
    h("div", { class: "side-label" }, "Channels"),
    h("ul", { class: "places", "data-keep-scroll": true }, channels.map((one) => place(one, page, go, one.private ? "🔒" : "#"))),
    h("div", { class: "side-label" }, "Apps"),
    h("ul", { class: "places" }, place(app ?? { id: workspace.app.name, name: workspace.app.name, unread: 0, kind: "app" }, page, go, appAvatar("tiny"))),
    h("div", { class: "side-label" }, "Direct messages"),
    h("ul", { class: "places" }, workspace.people.filter((one) => one.id !== me.id && !one.deleted).map((one) => {
      const open = state.conversations.find((other) => other.kind === "direct" && other.with.length === 1 && other.with[0] === one.id);
      return place({ ...(open ?? { unread: 0 }), id: open?.id ?? one.id, name: one.role, kind: "direct" }, page, go, avatar(one.role, "tiny"), statusMark(state.accounts[one.id], me.tz));
    })),
  ];
}

function person(one, tools) {
  const { page: { me, state }, go } = tools;
  const account = state.accounts[one.id];
  const mine = one.id === me.id;
  const waiting = state.people[one.id] ?? 0;
  return h("div", { class: "person-row" }, h("button", {
    class: `person ${mine ? "current" : ""}`, role: "radio", "aria-checked": String(mine), disabled: one.deleted, title: `${one.role} · ${one.tz}`,
    onclick: () => go({ me: one }), "data-testid": `be-${one.name}`,
    onkeydown: (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = [...event.currentTarget.closest(".people").querySelectorAll(".person:enabled")];
      all[(all.indexOf(event.currentTarget) + step + all.length) % all.length].focus();
    },
  },
  avatar(one.role, "small"), h("span", { class: "person-name" }, one.role), one.deleted ? h("span", { class: "hint" }, "deactivated") : statusMark(account, me.tz),
  !mine && waiting > 0 && h("span", { class: "badge", "aria-label": `${waiting} unread` }, String(waiting))),
  h("button", { class: "icon-button person-more", title: `Status and account of ${one.role}`, "aria-label": `Status and account of ${one.role}`, "aria-haspopup": "dialog", onclick: () => openAccount(one, tools), "data-testid": `account-${one.name}` }, "⋯"));
}

function place(one, page, go, mark, status = null) {
  const here = one.id === page.place;
  const unread = one.unread > 0 && !here;
  const testid = one.kind === "channel" ? `channel-${one.name}` : one.kind === "app" ? "app" : `direct-${one.name}`;
  return h("li", {}, h("button", {
    class: `place ${here ? "current" : ""} ${unread ? "unread" : ""}`, "aria-current": here ? "page" : null, onclick: () => go({ place: one.id }), "data-testid": testid,
  },
  h("span", { class: "mark", "aria-hidden": "true" }, mark), h("span", { class: "place-name" }, one.name), status,
  one.archived && h("span", { class: "hint" }, "archived"), unread && h("span", { class: "badge", "aria-label": `${one.unread} unread` }, String(one.unread))));
}
