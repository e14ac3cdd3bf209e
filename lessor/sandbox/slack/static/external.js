// Selects whose options the app supplies while somebody types.

import { h } from "./dom.js";

// What is being typed where, so that a redraw in between (an answer from the app) loses nothing.
const searches = new Map();

export function external(several, common, current) {
  return (element, block, scene, labels, act) => {
    const key = `${scene.id} ${block.block_id} ${element.action_id}`;
    const state = current(element, block, scene);
    const chosen = several ? state.selected_options || [] : [];
    const list = h("div", { class: "menu listbox", role: "listbox", id: `${scene.id}-${element.action_id}-list`, hidden: true });
    const choose = (one) => {
      searches.delete(key);
      return act(several ? [...chosen.map((other) => other.value), one.value] : one.value);
    };
    const input = h("input", {
      ...common(element, labels), class: "field-input", type: "text", role: "combobox", "aria-expanded": "false", autocomplete: "off", "aria-controls": list.id,
      placeholder: element.placeholder?.text || "Type to search", value: searches.get(key)?.typed ?? (several ? "" : state.selected_option?.text.text || ""),
      oninput: (event) => search(event.target.value),
      onfocus: () => element.min_query_length === 0 && !searches.has(key) && search(""),
      onkeydown: (event) => {
        if (event.key === "ArrowDown") list.querySelector("button")?.focus();
        if (event.key === "Escape" && !list.hidden) {
          event.preventDefault();
          event.stopPropagation();
          close();
        }
      },
    });

    function search(typed) {
      const mine = { typed, options: null, show };
      searches.set(key, mine);
      if (typed.length < (element.min_query_length ?? 3)) return show(mine);
      setTimeout(async () => {
        if (searches.get(key) !== mine) return;
        const options = await scene.suggest(element, block, typed);
        mine.options = options;
        if (searches.get(key) === mine) mine.show(mine);
      }, 150);
    }

    function show({ options }) {
      list.hidden = !options;
      input.setAttribute("aria-expanded", String(Boolean(options)));
      list.replaceChildren(...(options?.length ? options : [null]).map((one) => one
        ? h("button", { type: "button", role: "option", onclick: () => choose(one) }, one.text.text)
        : h("div", { class: "hint" }, "No results")));
    }

    function close() {
      searches.delete(key);
      show({ options: null });
    }

    const pending = searches.get(key);
    if (pending) {
      pending.show = show;
      show(pending);
    }
    const chips = chosen.map((one) => h("span", { class: "chip" }, one.text.text,
      h("button", { type: "button", class: "chip-x", "aria-label": `Remove ${one.text.text}`, onclick: () => act(chosen.filter((other) => other !== one).map((other) => other.value)) }, "×")));
    return h("div", { class: "external" }, chips, input, list);
  };
}
