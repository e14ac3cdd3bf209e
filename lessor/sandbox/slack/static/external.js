// Selects whose options the app supplies while somebody types.

import { h } from "./dom.js";

export function external(several, common, current) {
  return (element, block, scene, labels, act) => {
    const state = current(element, block, scene);
    const chosen = several ? state.selected_options || [] : [];
    const list = h("div", { class: "menu listbox", role: "listbox", hidden: true });
    let asking;
    const choose = (one) => act(several ? [...chosen.map((other) => other.value), one.value] : one.value);
    const ask = async (typed) => {
      const options = await scene.suggest(element, block, typed);
      list.hidden = false;
      list.replaceChildren(...(options.length ? options : [null]).map((one) => one
        ? h("button", { type: "button", role: "option", onclick: () => choose(one) }, one.text.text)
        : h("div", { class: "hint" }, "No results")));
    };
    const input = h("input", {
      ...common(element, labels), class: "field-input", type: "text", role: "combobox", "aria-expanded": "false", autocomplete: "off",
      placeholder: element.placeholder?.text || "Type to search", value: several ? "" : state.selected_option?.text.text || "",
      oninput: (event) => {
        clearTimeout(asking);
        const typed = event.target.value;
        if (typed.length >= (element.min_query_length ?? 3)) asking = setTimeout(() => ask(typed), 150);
      },
      onfocus: () => (element.min_query_length === 0 ? ask("") : null),
      onkeydown: (event) => event.key === "ArrowDown" && list.querySelector("button")?.focus(),
    });
    const chips = chosen.map((one) => h("span", { class: "chip" }, one.text.text,
      h("button", { type: "button", class: "chip-x", "aria-label": `Remove ${one.text.text}`, onclick: () => act(chosen.filter((other) => other !== one).map((other) => other.value)) }, "×")));
    return h("div", { class: "external" }, chips, input, list);
  };
}
