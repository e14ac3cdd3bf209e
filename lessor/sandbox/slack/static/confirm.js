// The confirmation dialog an element may ask for before its action is sent.

import { $, h } from "./dom.js";
import { mrkdwn, plain } from "./mrkdwn.js";

export function confirmFirst(confirm, look, go) {
  if (!confirm) return go();
  return new Promise((resolve) => {
    const dialog = $("confirm");
    const answer = async (yes) => {
      dialog.close();
      resolve(yes ? await go() : undefined);
    };
    const words = confirm.text.type === "mrkdwn" ? mrkdwn(confirm.text.text, look) : plain(confirm.text.text);
    dialog.replaceChildren(
      h("div", { class: "modal-head" }, h("h2", { id: "confirm-title" }, plain(confirm.title.text))),
      h("div", { class: "modal-body" }, words),
      h("div", { class: "modal-foot" },
        h("button", { type: "button", class: "button", onclick: () => answer(false), "data-testid": "confirm-deny" }, plain(confirm.deny?.text || "Cancel")),
        h("button", { type: "button", class: `button ${confirm.style || "primary"}`, onclick: () => answer(true), "data-testid": "confirm-yes" }, plain(confirm.confirm?.text || "Yes"))));
    dialog.setAttribute("aria-labelledby", "confirm-title");
    dialog.oncancel = () => resolve(undefined);
    dialog.showModal();
  });
}
