// The message box, and the list of slash commands or of people that opens above it.

import { h, toast } from "./dom.js";

// Under which name a text is kept that is not sent yet.
export const draftKey = (page, place, thread) => `${page.me.id} ${place} ${thread}`;

export function drawComposer(tools, thread) {
  const { page } = tools;
  const id = thread ? "composer-thread" : "composer-text";
  const key = draftKey(page, page.place, thread);
  const hints = h("div", { class: "hints menu", role: "listbox", id: `${id}-hints`, "aria-label": "Commands", hidden: true, "data-testid": "command-hints" });
  const here = page.state.conversations.find((one) => one.id === page.place);
  const name = here?.kind === "channel" ? `#${here.name}` : here?.name ?? page.place;
  const box = h("textarea", {
    id, rows: 1, value: page.drafts[key] ?? "", placeholder: thread ? "Reply…" : `Message ${name}`, "aria-label": thread ? "Reply" : `Message ${name}`,
    "aria-controls": `${id}-hints`, "aria-autocomplete": "list", autocomplete: "off", "data-testid": thread ? "reply-box" : "message-box",
    oninput: () => { page.drafts[key] = box.value; grow(box); offer(); },
    onkeydown: (event) => keys(event),
    onblur: () => setTimeout(() => (hints.hidden = true), 150),
  });
  let picked = 0;

  const offered = () => [...(thread ? [] : fitting(page.workspace.app.commands, box.value)), ...naming(page.workspace.people, box.value)];

  function offer() {
    const rows = offered();
    hints.hidden = rows.length === 0;
    picked = Math.min(picked, Math.max(0, rows.length - 1));
    hints.replaceChildren(...rows.map((row, index) => h("button", {
      type: "button", role: "option", "aria-selected": String(index === picked), class: index === picked ? "picked" : "", onmousedown: (event) => { event.preventDefault(); take(row); },
    }, h("strong", {}, row.shown), h("span", { class: "hint" }, row.about))));
    hints.querySelector(".picked")?.scrollIntoView({ block: "nearest" });
  }

  function take(row) {
    box.value = row.fill;
    page.drafts[key] = box.value;
    grow(box);
    hints.hidden = true;
    box.focus();
    const blank = /\b(ID|WHEN)\b|@PERSON|\[/.exec(row.fill);
    if (blank) box.setSelectionRange(blank.index, box.value.length);
  }

  function keys(event) {
    const rows = hints.hidden ? [] : offered();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && rows.length) {
      event.preventDefault();
      picked = (picked + step + rows.length) % rows.length;
      offer();
    } else if (event.key === "Tab" && rows.length) {
      event.preventDefault();
      take(rows[picked]);
    } else if (event.key === "Escape") hints.hidden = true;
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  }

  async function send() {
    const text = box.value;
    if (!text.trim()) return;
    box.value = page.drafts[key] = "";
    grow(box);
    hints.hidden = true;
    const command = /^(\/\S+)(?:[ \n]([\s\S]*))?$/.exec(text.trimStart());
    if (command && thread) toast("Slash commands do not work in threads.");
    else if (command) await tools.act("command", { command: command[1], text: command[2] ?? "", channel: page.place });
    else await tools.act("say", { text, channel: page.place, thread_ts: thread });
  }

  return h("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); send(); } }, hints,
    h("div", { class: "composer-box" }, box, h("button", { class: "send", "aria-label": "Send", "data-testid": thread ? "reply-send" : "send" }, "➤")),
    !thread && shortcuts(tools));
}

function shortcuts({ page, act }) {
  const all = page.workspace.app.shortcuts.filter((one) => one.type === "global");
  return all.length > 0 && h("div", { class: "shortcuts" }, h("span", { class: "hint" }, "Shortcuts:"),
    all.map((one) => h("button", { type: "button", class: "link-button", onclick: () => act("shortcut", { callback_id: one.callback_id }), "data-testid": `shortcut-${one.callback_id}` }, one.name)));
}

function fitting(commands, text) {
  if (!text.startsWith("/") || text.includes("\n")) return [];
  return commands.flatMap((command) => {
    const bare = { shown: `${command.command} ${command.usage_hint}`, about: command.description, fill: `${command.command} ` };
    if (command.command.startsWith(text) && !command.suggestions.length) return [bare];
    if (!text.startsWith(command.command) && !command.command.startsWith(text)) return [];
    const typed = text.slice(command.command.length).trimStart();
    const rows = command.suggestions.map((one) => ({ shown: `${command.command} ${one}`, about: "", fill: `${command.command} ${one.replace(/ ?\[.*/, " ")}`.trimEnd() + (one.includes("[") ? " " : ""), word: one }))
      .filter((row) => row.word.startsWith(typed) && row.word.split(" ")[0] !== typed.split(" ")[0]);
    return typed ? rows : [bare, ...rows];
  });
}

// People whose name goes on as what was typed after the last @.
function naming(people, text) {
  const typed = /(?:^|\s)@([\w.-]*)$/.exec(text)?.[1];
  if (typed === undefined) return [];
  return people.filter((one) => !one.is_bot && !one.deleted && one.name.startsWith(typed) && one.name !== typed)
    .map((one) => ({ shown: `@${one.name}`, about: one.role, fill: `${text.slice(0, text.length - typed.length)}${one.name} ` }));
}

function grow(box) {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 200)}px`;
}
