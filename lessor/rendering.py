"""Wording lives in Jinja templates that an organisation can override; what people typed can never become markup.

Every `{{ value }}` is escaped for the surface that the text goes to, unless it is `Safe` already. Templates run in a
sandbox, an undefined name is an error, and a template of the override folder wins over the one that is shipped.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from jinja2 import FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lessor.domain.money import Money
from lessor.domain.request import spell
from lessor.when import local, retold

_PERSON = re.compile(r"[UW][A-Z0-9]{2,}")
_CHANNEL = re.compile(r"[CG][A-Z0-9]{2,}")

Escape = Callable[[str], str]


class Safe(str):
    """Text that is escaped already for the surface it goes to."""

    __slots__ = ()


class Renderer:
    """The templates of one surface, such as `slack` or `aws`.

    `escape` is what every value goes through. `override` is a folder of the organisation's own with the same layout
    as `templates/`. Errors in a template are Jinja's own exceptions: they name template and line.
    """

    def __init__(self, folder: str, *, escape: Escape | None = None, override: Path | None = None) -> None:
        roots = [root / folder for root in (override, templates_root()) if root is not None]
        self._environment = ImmutableSandboxedEnvironment(
            loader=FileSystemLoader(roots),
            undefined=StrictUndefined,
            finalize=_finalizer(escape or str),
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {**_FILTERS, "retold": _retelling(escape or str)}

    def render(self, name: str, /, **values: object) -> str:
        """The whole template as text."""
        return self._environment.get_template(name).render(**values)

    def parts(self, name: str, /, **values: object) -> dict[str, str]:
        """Each `{% block %}` of the template by its name, in the template's order, stripped; empty ones left out."""
        template = self._environment.get_template(name)
        found = {}
        for block, write in template.blocks.items():
            text = "".join(write(template.new_context(values))).strip()
            if text:
                found[block] = text
        return found

    def part(self, name: str, block: str, /, **values: object) -> str:
        """One `{% block %}` of the template, stripped. Raises `KeyError` when there is none of that name."""
        template = self._environment.get_template(name)
        return "".join(template.blocks[block](template.new_context(values))).strip()


def slack_renderer(override: Path | None = None) -> Renderer:
    """The messages and views of the Slack surface, escaped for mrkdwn."""
    return Renderer("slack", escape=mrkdwn, override=override)


def manifest_renderer(override: Path | None = None) -> Renderer:
    """The objects that are made in clusters: every value becomes one quoted YAML scalar, whatever is written in it."""
    return Renderer("kubernetes", escape=_yaml, override=override)


def page_renderer(override: Path | None = None) -> Renderer:
    """The pages of the dashboard, escaped for HTML, in attributes as well."""
    return Renderer("web", escape=html.escape, override=override)


def templates_root() -> Path:
    """`templates/` beside the package in a checkout, `lessor/templates` in an installed wheel."""
    here = Path(__file__).resolve().parent
    packaged = here / "templates"
    return packaged if packaged.is_dir() else here.parent / "templates"


def mrkdwn(text: str) -> str:
    """`text` as characters only: with `&`, `<` and `>` escaped, no mention, link or `<!channel>` can come of it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@pass_context
def _when(context: Context, at: datetime) -> Safe:
    """In the viewer's zone where there is one viewer (`zone` in the context), else in each reader's own, and in UTC."""
    zone = context.get("zone")
    if zone:
        return Safe(local(at, str(zone)))
    utc = local(at, "UTC")
    return Safe(f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{utc}> ({utc})")


def _retelling(escape: Escape) -> Callable[[Context, object], Safe]:
    """Our own sentences with the instants in them as `when` shows them; never for what people wrote."""

    @pass_context
    def retelling(context: Context, text: object) -> Safe:
        rest: Escape = str if isinstance(text, Safe) else escape
        return Safe(retold("" if text is None else str(text), lambda at: _when(context, at), rest))

    return retelling


def _money(amount: Money | None) -> str:
    return "unknown" if amount is None else str(amount)


def _person(person_id: str) -> str:
    """A mention of somebody with a Slack id; any other actor (`policy`, `lessor`) by its word."""
    return Safe(f"<@{person_id}>") if _PERSON.fullmatch(person_id) else person_id


def _channel(channel: str) -> str:
    return Safe(f"<#{channel}>") if _CHANNEL.fullmatch(channel) else f"#{channel.removeprefix('#')}"


def _quoted(text: str) -> Safe:
    """Somebody's words set off line by line, so that they cannot pass for ours."""
    lines = mrkdwn(text.strip()).splitlines() or [""]
    return Safe("\n".join(f"&gt; {line}" for line in lines))


def _json(value: object) -> Safe:
    return Safe(json.dumps(value, ensure_ascii=True, default=str))


def _yaml(value: object) -> Safe:
    """One YAML scalar or flow collection on one line, quoted so that no text can end it. Numbers stay numbers."""
    if isinstance(value, bool | int):
        return Safe(json.dumps(value))
    dumped = yaml.safe_dump(value, default_style='"', default_flow_style=True, width=2**31, allow_unicode=False)
    return Safe(dumped.strip().removesuffix("...").strip())


def _shell(value: object) -> Safe:
    return Safe(shlex.quote(str(value)))


def _finalizer(escape: Escape) -> Callable[[Any], Any]:
    def finalize(value: Any) -> Any:
        if isinstance(value, Safe | Undefined):
            return value
        return "" if value is None else escape(str(value))

    return finalize


_FILTERS: Mapping[str, Callable[..., object]] = {
    "mrkdwn": lambda value: Safe(mrkdwn(str(value))),
    "when": _when,
    "money": _money,
    "spell": spell,
    "person": _person,
    "channel": _channel,
    "quoted": _quoted,
    "json": _json,
    "yaml": _yaml,
    "shell": _shell,
}
