// The stack of modals: the top one is shown, with field errors, trouble, and a waiting state.

import { renderBlocks } from "./blocks.js";
import { $, appAvatar, forget, h, paint } from "./dom.js";
import { viewScene } from "./messages.js";
import { plain } from "./mrkdwn.js";

export function drawModal(tools) {
  const dialog = $("modal");
  const stack = tools.page.state.views;
  const view = stack.at(-1);
  if (!view) {
    if (dialog.open) dialog.close();
    forget("modal");
    return;
  }
  const fresh = dialog.dataset.viewId !== view.id;
  dialog.dataset.viewId = view.id;
  dialog.dataset.callbackId = view.callback_id;
  dialog.setAttribute("aria-labelledby", "modal-title");
  const close = () => tools.act("close", { view_id: view.id });
  dialog.oncancel = (event) => {
    event.preventDefault();
    close();
  };
  const changed = paint("modal", [tools.page.me.id, view, stack.length], () => build(view, stack.length, tools, close));
  if (!dialog.open) dialog.showModal();
  const inBody = dialog.querySelector(".modal-body")?.contains(document.activeElement) || dialog.querySelector(".modal-foot")?.contains(document.activeElement);
  if (fresh || (changed && !inBody)) dialog.querySelector("[autofocus], .modal-body input, .modal-body textarea, .modal-body select")?.focus();
  // Only new errors pull the caret: a redraw for another reason must not move it from under somebody's hands.
  const errors = JSON.stringify(view.errors);
  if (changed && errors !== "{}" && errors !== dialog.dataset.errors) dialog.querySelector(".has-error input, .has-error textarea, .has-error select")?.focus();
  dialog.dataset.errors = errors;
}

function build(view, depth, tools, close) {
  const scene = viewScene(view, tools);
  const submit = async (event) => {
    event.preventDefault();
    const pressed = $("modal").querySelector(".submit");
    if (!pressed || pressed.disabled) return;
    pressed.disabled = true;
    pressed.classList.add("waiting");
    const report = await tools.act("submit", { view_id: view.id, values: { ...tools.page.drafts[view.id] } });
    if (report.acked && !report.response_action) delete tools.page.drafts[view.id];
    pressed.disabled = false;
    pressed.classList.remove("waiting");
    await tools.refresh();
  };
  return h("form", { class: "modal-form", onsubmit: submit, novalidate: true },
    h("div", { class: "modal-head" },
      depth > 1 ? h("button", { type: "button", class: "icon-button", "aria-label": "Back", onclick: close, "data-testid": "modal-back" }, "‹") : appAvatar("tiny"),
      h("h2", { id: "modal-title", "data-testid": "modal-title" }, plain(view.title?.text || "")),
      h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: close, "data-testid": "modal-x" }, "×")),
    view.trouble && h("div", { class: "trouble", role: "alert", "data-testid": "modal-trouble" }, view.trouble),
    h("div", { class: "modal-body", "data-keep-scroll": true }, renderBlocks(view.blocks, scene)),
    h("div", { class: "modal-foot" },
      h("button", { type: "button", class: "button", onclick: close, "data-testid": "modal-close" }, plain(view.close?.text || "Close")),
      view.submit && h("button", { type: "submit", class: "button primary submit", "data-testid": "modal-submit" }, plain(view.submit.text))));
}
