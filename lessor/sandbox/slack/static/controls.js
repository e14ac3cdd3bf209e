// The parts of Block Kit that people touch. Each gets its current value from scene.values and reports
// changes through scene.act(element, block, value).

import { h } from "./dom.js";
import { confirmFirst } from "./confirm.js";
import { external } from "./external.js";
import { plain, mrkdwn } from "./mrkdwn.js";
import { fromLocalInput, toLocalInput, zoneName } from "./times.js";

export function control(element, block, scene, labels) {
  const build = CONTROLS[element.type];
  if (!build) return h("span", { class: "unknown" }, `[${element.type}]`);
  return build(element, block, scene, labels, (value) => confirmFirst(element.confirm, scene.look, () => scene.act(element, block, value)));
}

const current = (element, block, scene) => ((scene.values || {})[block.block_id] || {})[element.action_id] || {};
const common = (element, labels) => ({
  id: labels.id, "aria-labelledby": labels.labelled, "aria-describedby": labels.described,
  "aria-label": labels.labelled ? null : element.placeholder?.text || element.action_id,
  "aria-invalid": labels.described ? "true" : null,
  "data-testid": element.action_id, "data-action-id": element.action_id, autofocus: element.focus_on_load,
});

function button(element, block, scene, labels, act) {
  const press = async (event) => {
    const pressed = event.currentTarget;
    if (element.url) window.open(element.url, "_blank", "noopener");
    pressed.classList.add("waiting");
    pressed.setAttribute("aria-busy", "true");
    await act(null);
    pressed.classList.remove("waiting");
    pressed.removeAttribute("aria-busy");
  };
  return h("button", {
    type: "button", class: `button ${element.style || ""}`, onclick: press, "data-testid": element.action_id,
    "data-action-id": element.action_id, "data-value": element.value, "aria-label": element.accessibility_label,
  }, plain(element.text.text));
}

function option(one, chosen) {
  return h("option", { value: one.value, selected: chosen.includes(one.value) }, plainText(one.text.text));
}

const plainText = (text) => plain(text).map((piece) => (typeof piece === "string" ? piece : piece.textContent)).join("");

function choices(element, chosen) {
  if (element.option_groups)
    return element.option_groups.map((group) => h("optgroup", { label: plainText(group.label.text) }, group.options.map((one) => option(one, chosen))));
  return (element.options || []).map((one) => option(one, chosen));
}

function select(element, block, scene, labels, act) {
  const chosen = current(element, block, scene).selected_option?.value ?? "";
  return h("select", { ...common(element, labels), class: "select", onchange: (event) => act(event.target.value || null) },
    h("option", { value: "", selected: !chosen }, element.placeholder ? plainText(element.placeholder.text) : "Choose an option"),
    choices(element, [chosen]));
}

// A list known to the client (people, channels) in place of options from the app.
function known(list, key) {
  return (element, block, scene, labels, act) => {
    const chosen = current(element, block, scene)[key] || "";
    return h("select", { ...common(element, labels), class: "select", onchange: (event) => act(event.target.value || null) },
      h("option", { value: "", selected: !chosen }, element.placeholder ? plainText(element.placeholder.text) : "Choose"),
      list(scene).map(([id, name]) => h("option", { value: id, selected: id === chosen }, name)));
  };
}

function several(list, ids) {
  return (element, block, scene, labels, act) => {
    const chosen = ids(current(element, block, scene));
    const all = list(element, scene);
    const named = new Map(all);
    const chip = (id) => h("span", { class: "chip" }, named.get(id) ?? id,
      h("button", { type: "button", class: "chip-x", "aria-label": `Remove ${named.get(id) ?? id}`, onclick: () => act(chosen.filter((one) => one !== id)) }, "×"));
    return h("div", { class: "several" }, chosen.map(chip),
      h("select", { ...common(element, labels), class: "select", onchange: (event) => event.target.value && act([...chosen, event.target.value]) },
        h("option", { value: "" }, element.placeholder ? plainText(element.placeholder.text) : "Add…"),
        all.filter(([id]) => !chosen.includes(id)).map(([id, name]) => h("option", { value: id }, name))));
  };
}

const people = (scene) => scene.people.filter((one) => !one.deleted).map((one) => [one.id, one.role]);
const channels = (scene) => scene.channels.map((one) => [one.id, `#${one.name}`]);
const optionPairs = (element) =>
  [...(element.options || []), ...(element.option_groups || []).flatMap((group) => group.options)].map((one) => [one.value, plainText(one.text.text)]);

function group(kind) {
  return (element, block, scene, labels, act) => {
    const state = current(element, block, scene);
    const chosen = kind === "radio" ? [state.selected_option?.value] : (state.selected_options || []).map((one) => one.value);
    const name = `${scene.id}-${block.block_id}-${element.action_id}`;
    const change = (value, on) => act(kind === "radio" ? value : on ? [...chosen, value] : chosen.filter((one) => one !== value));
    return h("div", { class: "choices", role: kind === "radio" ? "radiogroup" : "group", "aria-labelledby": labels.labelled, "data-testid": element.action_id },
      element.options.map((one) => h("label", { class: "choice" },
        h("input", { type: kind, name, value: one.value, checked: chosen.includes(one.value), onchange: (event) => change(one.value, event.target.checked), "data-testid": `${element.action_id}-${one.value}` }),
        h("span", {}, one.text.type === "mrkdwn" ? mrkdwn(one.text.text, scene.look) : plain(one.text.text),
          one.description && h("span", { class: "hint" }, plain(one.description.text))))));
  };
}

function picker(type, key) {
  return (element, block, scene, labels, act) =>
    h("input", { ...common(element, labels), type, class: "field-input picker", value: current(element, block, scene)[key] || "", onchange: (event) => act(event.target.value || null) });
}

function dateTime(element, block, scene, labels, act) {
  const seconds = current(element, block, scene).selected_date_time;
  const zone = scene.look.zone;
  return h("div", { class: "with-zone" },
    h("input", { ...common(element, labels), type: "datetime-local", class: "field-input picker", value: toLocalInput(seconds, zone), onchange: (event) => act(fromLocalInput(event.target.value, zone)) }),
    h("span", { class: "hint" }, zoneName(seconds || Date.now() / 1000, zone)));
}

function typed(type) {
  return (element, block, scene, labels, act) => {
    const triggers = element.dispatch_action_config?.trigger_actions_on || ["on_enter_pressed"];
    const known = scene.draft(block.block_id) ?? current(element, block, scene).value ?? "";
    const count = h("span", { class: "count" });
    const limit = element.max_length || 3000;
    const tally = (text) => (count.textContent = limit - [...text].length < 100 ? String(limit - [...text].length) : "");
    const dispatch = (value) => block.dispatch_action && act(value);
    const attributes = {
      ...common(element, labels), class: "field-input", value: known, placeholder: element.placeholder?.text,
      maxlength: element.max_length, autocomplete: "off",
      oninput: (event) => {
        scene.draft(block.block_id, event.target.value);
        tally(event.target.value);
        if (triggers.includes("on_character_entered")) dispatch(event.target.value);
      },
      onkeydown: (event) => {
        if (event.key === "Enter" && !element.multiline && triggers.includes("on_enter_pressed") && block.dispatch_action) {
          event.preventDefault();
          dispatch(event.target.value);
        }
      },
    };
    tally(known);
    if (element.multiline) return h("div", { class: "typed" }, h("textarea", { ...attributes, rows: 4 }), count);
    const numeric = type === "number" ? { inputmode: "decimal" } : {};
    return h("div", { class: "typed" }, h("input", { ...attributes, ...numeric, type: type === "number" ? "text" : type }), count);
  };
}

function overflow(element, block, scene, labels, act) {
  const choose = async (event, one) => {
    event.currentTarget.closest("details").open = false;
    if (one.url) window.open(one.url, "_blank", "noopener");
    await act(one.value);
  };
  return h("details", { class: "overflow" },
    h("summary", { class: "button", "aria-label": "More actions", "data-testid": element.action_id }, "⋯"),
    h("div", { class: "menu", role: "menu" }, element.options.map((one) =>
      h("button", { type: "button", role: "menuitem", onclick: (event) => choose(event, one) }, plain(one.text.text)))));
}

const CONTROLS = {
  button, overflow,
  static_select: select,
  external_select: external(false, common, current), multi_external_select: external(true, common, current),
  users_select: known(people, "selected_user"), channels_select: known(channels, "selected_channel"),
  conversations_select: known(channels, "selected_conversation"),
  multi_static_select: several(optionPairs, (state) => (state.selected_options || []).map((one) => one.value)),
  multi_users_select: several((_, scene) => people(scene), (state) => state.selected_users || []),
  multi_channels_select: several((_, scene) => channels(scene), (state) => state.selected_channels || []),
  multi_conversations_select: several((_, scene) => channels(scene), (state) => state.selected_conversations || []),
  radio_buttons: group("radio"), checkboxes: group("checkbox"),
  datepicker: picker("date", "selected_date"), timepicker: picker("time", "selected_time"), datetimepicker: dateTime,
  plain_text_input: typed("text"), number_input: typed("number"), email_text_input: typed("email"), url_text_input: typed("url"),
};
