// Headings, message lists, threads and App Home.

import { renderBlocks } from "./blocks.js";
import { drawComposer } from "./composer.js";
import { appAvatar, avatar, h } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { clockTime, dayName, full } from "./times.js";

export function drawHeading({ page, go }) {
  const here = page.state.conversations.find((one) => one.id === page.place) ?? { name: page.place, kind: "app" };
  const mark = here.kind === "channel" ? (here.private ? "🔒 " : "# ") : "";
  const tab = (name, label) => h("button", {
    role: "tab", "aria-selected": String(page.tab === name), class: `tab ${page.tab === name ? "current" : ""}`,
    onclick: () => go({ tab: name }), "data-testid": `tab-${name}`,
  }, label);
  return h("div", { class: "heading-in" },
    h("h1", { "data-testid": "heading" }, here.kind === "app" && appAvatar("tiny"), `${mark}${here.name}`),
    here.kind === "app" && h("div", { class: "tabs", role: "tablist", "aria-label": here.name }, tab("home", "Home"), tab("messages", "Messages")),
    here.topic && h("span", { class: "topic" }, here.topic),
    here.kind === "channel" && h("span", { class: "members" }, `${here.members} people`));
}

export function drawMessages(tools) {
  const { page } = tools;
  const here = page.state.conversations.find((one) => one.id === page.place);
  const list = h("ol", { class: "messages", "aria-label": "Messages", "data-testid": "messages" });
  list.append(h("li", { class: "beginning" }, h("strong", {}, here?.kind === "channel" ? `#${here.name}` : here?.name ?? ""),
    h("span", {}, here?.kind === "app" ? `Type / to see the commands of ${page.workspace.app.name}.` : "This is where the conversation begins.")));
  let day = "";
  let last = null;
  for (const message of page.state.messages) {
    const of = dayName(Number(message.ts), tools.look.zone);
    if (of !== day) list.append(h("li", { class: "day", role: "separator" }, h("span", {}, of)));
    const follows = last && of === day && last.user === message.user && !last.ephemeral && !message.ephemeral && message.ts - last.ts < 300 && !last.reply_count;
    list.append(h("li", {}, drawMessage(message, tools, follows)));
    day = of;
    last = message;
  }
  return list;
}

export function drawThread(tools) {
  const { page, go } = tools;
  return [
    h("div", { class: "thread-head" }, h("h2", {}, "Thread"),
      h("button", { class: "icon-button", "aria-label": "Close thread", onclick: () => go({ thread: "" }), "data-testid": "thread-close" }, "×")),
    h("ol", { class: "messages thread-messages", "data-keep-scroll": true, "data-testid": "thread-messages" },
      page.state.thread.map((message) => h("li", {}, drawMessage(message, { ...tools, inThread: true })))),
    drawComposer(tools, page.thread),
  ];
}

export function drawHome(tools) {
  const { page } = tools;
  const home = page.state.home;
  if (!home) return h("div", { class: "empty", "data-testid": "home" }, "The app has not published a Home tab for you yet.");
  return h("div", { class: "home", "data-testid": "home" }, renderBlocks(home.blocks, viewScene(home, tools)));
}

// Where blocks of a view stand: drafts are kept by block id until something is sent.
export function viewScene(view, tools) {
  const drafts = (tools.page.drafts[view.id] ??= {});
  const where = { view_id: view.id };
  return {
    id: view.id, look: tools.look, values: view.state.values, errors: view.errors, people: tools.page.workspace.people,
    channels: tools.page.workspace.channels.filter((one) => one.members.includes(tools.page.me.id)),
    draft: (block, text) => (text === undefined ? drafts[block] : (drafts[block] = text)),
    act: (element, block, value) => tools.act("interact", { ...where, action_id: element.action_id, block_id: block.block_id, value, values: { ...drafts } }),
    suggest: async (element, block, typed) => (await tools.act("suggest", { ...where, action_id: element.action_id, block_id: block.block_id, typed })).options || [],
  };
}

function messageScene(message, tools) {
  const drafts = (tools.page.drafts[message.ts] ??= {});
  const where = { channel: message.channel, ts: message.ts };
  return {
    id: message.ts.replace(".", "-"), look: tools.look, values: message.values, errors: {}, people: tools.page.workspace.people,
    channels: tools.page.workspace.channels.filter((one) => one.members.includes(tools.page.me.id)),
    draft: (block, text) => (text === undefined ? drafts[block] : (drafts[block] = text)),
    act: async (element, block, value) => {
      const report = await tools.act("interact", { ...where, action_id: element.action_id, block_id: block.block_id, value });
      if (report.acked === false && !report.dispatched) return;
      if (report.acked === false) document.querySelector(`[data-ts="${message.ts}"]`)?.classList.add("unanswered");
    },
    suggest: async (element, block, typed) => (await tools.act("suggest", { ...where, action_id: element.action_id, block_id: block.block_id, typed })).options || [],
  };
}

function drawMessage(message, tools, follows = false) {
  const { page, look } = tools;
  const seconds = Number(message.ts);
  const stamp = h("time", { class: "stamp", datetime: new Date(seconds * 1000).toISOString(), title: full(seconds, look.zone) }, clockTime(seconds, look.zone));
  const face = message.from_app ? appAvatar() : message.user === "USLACKBOT" ? avatar("Slackbot") : avatar(message.author);
  const words = message.blocks ? renderBlocks(message.blocks, messageScene(message, tools)) : h("div", { class: "block text" }, mrkdwn(message.text, look), message.edited && h("span", { class: "edited" }, " (edited)"));
  return h("article", {
    class: `message ${follows ? "follows" : ""} ${message.ephemeral ? "ephemeral" : ""}`, "data-ts": message.ts, "data-testid": "message", "aria-label": `Message from ${message.author}`,
  },
  message.ephemeral && h("div", { class: "only-you" }, "👁 Only visible to you",
    h("button", { class: "link-button", onclick: () => tools.act("dismiss", { channel: message.channel, ts: message.ts }) }, "Dismiss")),
  h("div", { class: "gutter" }, follows ? stamp : face),
  h("div", { class: "said" },
    !follows && h("div", { class: "by" }, h("strong", {}, message.author), message.from_app && h("span", { class: "app-tag" }, "APP"), stamp),
    words,
    (message.files || []).map(file),
    message.reactions && h("div", { class: "reactions" }, message.reactions.map((one) => h("span", { class: "reaction" }, mrkdwn(`:${one.name}:`, look), ` ${one.count}`))),
    !tools.inThread && message.reply_count && h("button", { class: "replies", onclick: () => tools.go({ thread: message.ts }), "data-testid": "replies" },
      `${message.reply_count} ${message.reply_count === 1 ? "reply" : "replies"}`)),
  !message.ephemeral && h("div", { class: "hover-bar", role: "group", "aria-label": "Message actions" },
    !tools.inThread && h("button", { class: "icon-button", title: "Reply in thread", "aria-label": "Reply in thread", onclick: () => tools.go({ thread: message.thread_ts || message.ts }) }, "💬"),
    page.workspace.app.shortcuts.filter((one) => one.type === "message").map((one) =>
      h("button", { class: "icon-button text-button", onclick: () => tools.act("shortcut", { callback_id: one.callback_id, channel: message.channel, ts: message.ts }) }, one.name))));
}

function file(one) {
  const image = /\.(png|jpe?g|gif|svg)$/i.test(one.name);
  const address = new URL(one.url_private).pathname;
  return h("a", { class: "file", href: address, target: "_blank" }, image ? h("img", { src: address, alt: one.title }) : `📄 ${one.title}`);
}
