"""What a mail says. Words come from `templates/mail/`, one file per notice, which an organisation can override.

A template has the blocks `subject`, `title`, any number of `body...` and `do...` (a command, then what it does) and
`note`. The same words make the plain text and the HTML: rendered with the escaping of each, laid out by `layout.*.j2`.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from jinja2 import TemplateError

from lessor.domain.people import Person
from lessor.notify.failures import UndeliverableError
from lessor.rendering import Renderer, Safe

SUBJECT_MOST = 150
PART_MOST = 4_000
_KEPT = "\n\t"
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Categories of characters that are not seen and may turn what is seen around: controls, directions, line ends."""


@dataclass(frozen=True)
class Letter:
    """One notice to be mailed. `template` is a file of `templates/mail/` without its ending, `occasion` a business key.

    `values` are what the template may speak of; `people` are the ids of those whom it may name.
    """

    template: str
    occasion: str
    values: Mapping[str, object] = field(default_factory=dict)
    people: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reader:
    """Who reads a letter and why they get it: as owner, for an owner who is away, or besides Slack.

    `names` are the names of the people whom the letter may name, by id.
    """

    person: Person
    owns: bool = False
    away_until: datetime | None = None
    besides: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A letter in words: a subject of one line, and the same content twice."""

    subject: str
    text: str
    html: str


class LetterWriter:
    """Writes letters from the templates. `organisation` signs them."""

    def __init__(self, organisation: str, override: Path | None = None) -> None:
        self._organisation = organisation
        self._text = Renderer("mail", escape=seen, override=override)
        self._html = Renderer("mail", escape=lambda text: html.escape(seen(text)), override=override)

    def write(self, letter: Letter, reader: Reader) -> Written:
        """The letter as `reader` should read it, times in their zone.

        Raises `UndeliverableError` for a template that is missing or broken: the other channels go on.
        """
        try:
            return self._written(letter, reader)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise UndeliverableError(f"template mail/{letter.template}.j2 cannot be used: {error}") from error

    def _written(self, letter: Letter, reader: Reader) -> Written:
        names = reader.names

        def named(someone: str) -> str:
            return names.get(someone) or someone

        values = {
            **letter.values,
            "zone": reader.person.tz,
            "reader": reader,
            "organisation": self._organisation,
            "named": named,
        }
        subject = self._text.parts(f"{letter.template}.j2", **values)["subject"]
        text = self._laid_out(self._text, "txt", letter, values)
        return Written(_cut(_one_line(subject), SUBJECT_MOST), text, self._laid_out(self._html, "html", letter, values))

    def _laid_out(self, renderer: Renderer, kind: str, letter: Letter, values: Mapping[str, object]) -> str:
        found = renderer.parts(f"{letter.template}.j2", **values)
        parts = {name: _cut(text) for name, text in found.items()}
        deeds = [text.partition("\n") for name, text in parts.items() if name.startswith("do")]
        broken = "<br>\n" if kind == "html" else "\n"
        layout = renderer.render(
            f"layout.{kind}.j2",
            **values,
            title=Safe(_one_line(parts["title"])),
            bodies=[Safe(text.replace("\n", broken)) for name, text in parts.items() if name.startswith("body")],
            deeds=[(Safe(command), Safe(what.strip())) for command, _, what in deeds],
            note=Safe(parts.get("note", "")),
        )
        return layout.strip() + "\n"


def seen(text: str) -> str:
    """`text` without characters that are not seen: nothing can hide in a mail, reverse it, or begin another header."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for c in lines if c in _KEPT or unicodedata.category(c) not in _UNSEEN)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, most: int = PART_MOST) -> str:
    """At most so many characters, with an ellipsis; the cut does not fall into an entity of HTML."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    entity = head.rfind("&", most - 12)
    if entity >= 0 and ";" not in head[entity:]:
        head = head[:entity]
    return f"{head.rstrip()}…"
