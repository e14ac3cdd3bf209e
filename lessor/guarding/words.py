"""A tiding in words: the same template for mail and for Slack, rendered with the escaping of each; and as an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lessor.guarding.tidings import Tiding, as_facts
from lessor.notify import Letter
from lessor.rendering import Renderer, mrkdwn

TEMPLATE = "guard"
MOST = 30
"""How many things of a kind one message names."""

TYPE = "dev.lessor.guard."


def letter(tiding: Tiding) -> Letter:
    """The tiding as a mail to be written."""
    people = (tiding.owner,) if tiding.owner else ()
    return Letter(TEMPLATE, f"guard-{tiding.occasion}", _values(tiding), people)


class SlackWords:
    """Writes tidings as Slack shows them; times in each reader's own zone."""

    def __init__(self, override: Path | None = None) -> None:
        self._renderer = Renderer("mail", escape=mrkdwn, override=override)

    def write(self, tiding: Tiding, named: Callable[[str], str]) -> str:
        """One text of the mail's parts: what to type stands in backticks. Raises Jinja's errors."""
        parts = self._renderer.parts(f"{TEMPLATE}.j2", **_values(tiding), named=named)
        bodies = [text for name, text in parts.items() if name.startswith("body")]
        deeds = [text.partition("\n") for name, text in parts.items() if name.startswith("do")]
        return "\n".join(
            [f"*{parts['title']}*", *bodies, *(f"`{command}`: {what.strip()}" for command, _, what in deeds)]
        )


def event(tiding: Tiding, source: str, now: datetime) -> dict[str, Any]:
    """The tiding as a CloudEvent; `id` is the business key: whoever has seen it has seen the event."""
    facts = {name: value or None for name, value in as_facts(tiding).items() if name not in ("kind", "occasion", "at")}
    return {
        "specversion": "1.0",
        "id": tiding.key,
        "source": source,
        "type": f"{TYPE}{tiding.kind.value}",
        "subject": tiding.subject,
        "time": now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": facts,
    }


def _values(tiding: Tiding) -> Mapping[str, object]:
    return {"tiding": tiding, "kind": tiding.kind.value, "lease": None, "guard": True, "most": MOST}
