// The panel of one account: a status that says where somebody is, deactivation and its undoing.

import { act, call } from "./api.js";
import { $, h, toast } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { fromLocalInput, pretty, clockTime, toLocalInput, zoneName } from "./times.js";

// The app has to tell an absence from a meeting: both are offered.
const STATUSES = [
  ["Out of office", ":no_entry:"], ["Vacationing", ":palm_tree:"], ["Out sick", ":face_with_thermometer:"],
  ["In a meeting", ":spiral_calendar_pad:"], ["Working remotely", ":house_with_garden:"],
];

export function statusMark(account, zone) {
  if (!account?.status_text && !account?.status_emoji) return null;
  return h("span", { class: "status", title: describe(account, zone) }, mrkdwn(account.status_emoji, {}));
}

function describe(account, zone) {
  const until = account.status_expiration;
  return until ? `${account.status_text} until ${pretty(until, zone, { month: "short", day: "numeric" })} ${clockTime(until, zone)} ${zoneName(until, zone)}` : account.status_text;
}

export function openAccount(person, tools) {
  const dialog = $("account");
  const account = tools.page.state.accounts[person.id];
  const tomorrow = toLocalInput(Date.now() / 1000 + 86400, person.tz);
  const text = h("select", { class: "field-input", "data-testid": "status-text" }, STATUSES.map(([name]) => h("option", { value: name }, name)));
  const until = h("input", { class: "field-input", type: "datetime-local", value: tomorrow, "data-testid": "status-until" });
  const leave = async (done) => { if (done) { dialog.close(); await tools.refresh(); } };
  const set = async (values) => leave((await act(person.id, "status", values)).error === undefined);
  const chosen = () => ({ text: text.value, emoji: Object.fromEntries(STATUSES)[text.value], expiration: fromLocalInput(until.value, person.tz) ?? 0 });
  dialog.setAttribute("aria-label", `Account of ${person.role}`);
  dialog.replaceChildren(
    h("div", { class: "modal-head" }, h("h2", {}, person.role), h("button", { class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() }, "×")),
    h("div", { class: "modal-body" },
      h("p", { class: "hint" }, person.deleted ? "This account is deactivated." : account.status_text ? `Now: ${describe(account, person.tz)}.` : "No status is set."),
      !person.deleted && h("label", { class: "account-field" }, h("span", {}, "Status"), text),
      !person.deleted && h("label", { class: "account-field" }, h("span", {}, `Until, in ${person.tz} (empty: until it is cleared)`), until),
      h("div", { class: "fault-row" },
        !person.deleted && h("button", { class: "button primary", onclick: () => set(chosen()), "data-testid": "status-set" }, "Set status"),
        !person.deleted && h("button", { class: "button", onclick: () => set({ text: "" }), "data-testid": "status-clear" }, "Clear status"),
        h("button", { class: `button ${person.deleted ? "" : "danger"}`, onclick: () => activate(person, person.deleted, tools).then(leave), "data-testid": "account-active" }, person.deleted ? "Reactivate" : "Deactivate"))));
  dialog.showModal();
}

// Somebody who is deactivated sees nothing any more: whoever was being them goes on as somebody else.
async function activate(person, active, tools) {
  const { page, go } = tools;
  const other = page.workspace.people.find((one) => one.id !== person.id && !one.is_bot && !one.deleted);
  if (!active && !other) {
    toast("The last active account stays: nobody could look at this page.");
    return false;
  }
  try {
    await call("POST", "change-person", { who: person.id, deleted: !active });
  } catch (error) {
    toast(error.message);
    return false;
  }
  if (!active && person.id === page.me.id) await go({ me: other });
  return true;
}
