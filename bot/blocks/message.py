"""A message as Slack takes it, built from the parts that a template gave and the buttons that code chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ConfirmObject,
    ContextBlock,
    DividerBlock,
    ImageBlock,
    MarkdownTextObject,
    PlainTextObject,
    SectionBlock,
)

from bot.blocks.text import FALLBACK_MOST, cut, label, pieces

BLOCKS_MOST = 50
WEIGHT_MOST = 12_000
"""Well below the undocumented total near 13,200 characters at which Slack refuses a message."""

FIELD_MOST = 2_000
FIELDS_MOST = 10
_CONTAINER = 30


@dataclass(frozen=True)
class Message:
    """`text` is what notifications and screen readers say, `blocks` what is shown."""

    text: str
    blocks: tuple[Block, ...] = ()

    @property
    def payload(self) -> dict[str, Any]:
        """The arguments of `chat.postMessage` and `chat.update`."""
        return {"text": cut(self.text, FALLBACK_MOST), "blocks": [block.to_dict() for block in self.blocks]}


def compose(parts: Mapping[str, str], buttons: Sequence[ButtonElement] = (), extra: Sequence[Block] = ()) -> Message:
    """A message from a template's parts: `title`, any number of `field_...` and `body...`, `note`, in that order.

    `extra` blocks stand before the small print; `after_...` is small print below the buttons.
    """
    title = parts["title"]
    blocks: list[Block] = sections(title)
    fields = [cut(text, FIELD_MOST) for name, text in parts.items() if name.startswith("field_")]
    for start in range(0, len(fields), FIELDS_MOST):
        blocks.append(SectionBlock(fields=[markdown(text) for text in fields[start : start + FIELDS_MOST]]))
    for name, text in parts.items():
        if name.startswith("body"):
            blocks += sections(text)
    blocks += extra
    if parts.get("note"):
        blocks.append(note(parts["note"]))
    if buttons:
        blocks.append(ActionsBlock(elements=list(buttons)))
    blocks += [note(text) for name, text in parts.items() if name.startswith("after_")]
    return Message(parts.get("summary", title).replace("*", ""), tuple(blocks))


def split(message: Message) -> list[Message]:
    """The message in as many as Slack's limits need, in order, with nothing lost."""
    pages: list[list[Block]] = [[]]
    size = 0
    for block in message.blocks:
        heavy = weight(block.to_dict())
        if pages[-1] and (len(pages[-1]) >= BLOCKS_MOST or size + heavy > WEIGHT_MOST):
            pages.append([])
            size = 0
        pages[-1].append(block)
        size += heavy
    if len(pages) == 1:
        return [message]
    texts = [message.text, *(f"{message.text} ({n} of {len(pages)})" for n in range(2, len(pages) + 1))]
    return [replace(message, text=text, blocks=tuple(page)) for text, page in zip(texts, pages, strict=True)]


def halves(message: Message) -> list[Message]:
    """Two messages with half of the blocks each."""
    middle = len(message.blocks) // 2
    return [replace(message, blocks=message.blocks[:middle]), replace(message, blocks=message.blocks[middle:])]


def plain(message: Message) -> list[Message]:
    """The content as text alone, in messages of at most 4,000 characters."""
    lines = "\n".join(text for block in message.blocks for text in _texts(block.to_dict()))
    return [Message(text) for text in pieces(lines or message.text, FALLBACK_MOST)]


def without_buttons(message: Message) -> Message:
    """The same words with nothing to press."""
    return replace(message, blocks=tuple(b for b in message.blocks if not isinstance(b, ActionsBlock)))


def pictured(message: Message) -> bool:
    """Whether it shows a picture."""
    return any(isinstance(block, ImageBlock) for block in message.blocks)


def without_pictures(message: Message) -> Message:
    """The same words with nothing to see."""
    return replace(message, blocks=tuple(b for b in message.blocks if not isinstance(b, ImageBlock)))


def weight(value: Any) -> int:
    """How much of Slack's undocumented total a block takes: its texts, and something for every container."""
    if isinstance(value, list):
        return sum(weight(item) for item in value)
    if not isinstance(value, dict):
        return 0
    own = len(value["text"]) if isinstance(value.get("text"), str) else 0
    return own + _CONTAINER + sum(weight(item) for item in value.values())


def sections(text: str) -> list[Block]:
    """As many sections as the text needs."""
    return [SectionBlock(text=markdown(piece)) for piece in pieces(text)]


def note(text: str) -> Block:
    """Small print."""
    return ContextBlock(elements=[markdown(piece) for piece in pieces(text)][:FIELDS_MOST])


def divider() -> Block:
    return DividerBlock()


def markdown(text: str) -> MarkdownTextObject:
    """Formatted text in which nothing but what we wrote becomes a link or a mention."""
    return MarkdownTextObject(text=text, verbatim=True)


def plain_text(text: str) -> PlainTextObject:
    return PlainTextObject(text=text, emoji=True)


def button(
    text: str, action: str, value: str, *, style: str = "", confirm: ConfirmObject | None = None
) -> ButtonElement:
    """A button that carries an id and nothing else."""
    return ButtonElement(
        text=plain_text(label(text)), action_id=action, value=value, style=style or None, confirm=confirm
    )


def confirmation(title: str, text: str, yes: str, no: str, style: str) -> ConfirmObject:
    """The question that a button asks first. `style` is `primary` or `danger`."""
    return ConfirmObject(
        title=plain_text(cut(title, 100)),
        text=markdown(cut(text, 300)),
        confirm=plain_text(cut(yes, 30)),
        deny=plain_text(cut(no, 30)),
        style=style,
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if not isinstance(value, dict) or value.get("type") in ("actions", "button"):
        return []
    own = [value["text"]] if isinstance(value.get("text"), str) else []
    return own + [text for item in value.values() for text in _texts(item)]
