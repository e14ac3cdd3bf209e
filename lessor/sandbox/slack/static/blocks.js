// Block Kit blocks to DOM nodes; the parts people touch are in controls.js.

import { h } from "./dom.js";
import { control } from "./controls.js";
import { link, mention, mrkdwn, plain, withEmoji } from "./mrkdwn.js";

// `scene` is where the blocks stand: { look, values, errors, act(element, block, value), draft, … }.
export function renderBlocks(blocks, scene) {
  return (blocks || []).map((block) => {
    const build = BLOCKS[block.type];
    const content = build ? build(block, scene) : h("div", { class: "block unknown" }, `[${block.type}]`);
    content.dataset.blockId = block.block_id;
    content.dataset.testid = `block-${block.block_id}`;
    return content;
  });
}

export function textObject(object, look) {
  if (!object) return [];
  if (object.type === "mrkdwn") return mrkdwn(object.text, look);
  return plain(object.text, look, object.emoji !== false);
}

const BLOCKS = {
  divider: () => h("hr", { class: "block divider" }),
  header: (block, scene) => h("div", { class: "block header", role: "heading", "aria-level": "3" }, textObject(block.text, scene.look)),
  section(block, scene) {
    const words = h("div", { class: "section-words" });
    if (block.text) words.append(h("div", { class: "text" }, textObject(block.text, scene.look)));
    if (block.fields) words.append(h("div", { class: "fields" }, block.fields.map((field) => h("div", { class: "field" }, textObject(field, scene.look)))));
    const accessory = block.accessory && h("div", { class: "accessory" }, element(block.accessory, block, scene));
    return h("div", { class: "block section" }, words, accessory);
  },
  actions: (block, scene) => h("div", { class: "block actions" }, block.elements.map((one) => element(one, block, scene))),
  context: (block, scene) => h("div", { class: "block context" }, block.elements.map((one) =>
    one.type === "image" ? h("img", { class: "context-image", src: imageAddress(one), alt: one.alt_text })
      : h("span", {}, textObject(one, scene.look)))),
  image: (block, scene) => h("figure", { class: "block image" },
    block.title && h("figcaption", {}, textObject(block.title, scene.look)),
    h("img", { src: imageAddress(block), alt: block.alt_text, title: block.alt_text })),
  input(block, scene) {
    const id = `field-${scene.id}-${block.block_id}`;
    const error = (scene.errors || {})[block.block_id];
    return h("div", { class: `block input ${error ? "has-error" : ""}` },
      h("label", { class: "input-label", id: `${id}-label`, for: id }, plain(block.label.text),
        block.optional && h("span", { class: "optional" }, " (optional)")),
      control(block.element, block, scene, { id, labelled: `${id}-label`, described: error ? `${id}-error` : null }),
      error && h("div", { class: "field-error", id: `${id}-error`, role: "alert", "data-testid": `error-${block.block_id}` }, error),
      block.hint && h("div", { class: "hint" }, plain(block.hint.text)));
  },
  markdown: (block, scene) => h("div", { class: "block section text" }, mrkdwn(block.text.replace(/\*\*/g, "*"), scene.look)),
  rich_text: (block, scene) => h("div", { class: "block rich" }, block.elements.map((one) => rich(one, scene.look))),
};

// An image is somewhere on the web, or a file that was uploaded here.
function imageAddress(image) {
  if (!image.slack_file) return image.image_url;
  return image.slack_file.id ? `/files/${image.slack_file.id}` : new URL(image.slack_file.url).pathname;
}

function element(one, block, scene) {
  if (one.type === "image") return h("img", { class: "accessory-image", src: imageAddress(one), alt: one.alt_text });
  return control(one, block, scene, {});
}

function rich(element, look) {
  const inside = () => (element.elements || []).map((one) => richInline(one, look));
  if (element.type === "rich_text_list") {
    const items = element.elements.map((one) => h("li", {}, (one.elements || []).map((part) => richInline(part, look))));
    return h(element.style === "ordered" ? "ol" : "ul", {}, items);
  }
  if (element.type === "rich_text_quote") return h("blockquote", {}, inside());
  if (element.type === "rich_text_preformatted") return h("pre", {}, h("code", {}, inside()));
  return h("div", {}, inside());
}

function richInline(one, look) {
  const shown = {
    text: () => h("span", { class: "prewrap" }, one.text),
    link: () => link(one.url, one.text || one.url),
    user: () => mention(`@${look.person(one.user_id) ?? one.user_id}`, one.user_id === look.me),
    channel: () => h("span", { class: "mention" }, `#${look.channel(one.channel_id) ?? one.channel_id}`),
    emoji: () => h("span", {}, withEmoji(`:${one.name}:`)),
    broadcast: () => mention(`@${one.range}`, true),
  }[one.type];
  let node = shown ? shown() : h("span", {}, one.fallback || "");
  const style = one.style || {};
  for (const [name, tag] of [["code", "code"], ["bold", "strong"], ["italic", "em"], ["strike", "s"]])
    if (style[name]) node = h(tag, {}, node);
  return node;
}
