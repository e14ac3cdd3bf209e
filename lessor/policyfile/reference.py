"""The table of facts in docs/policy.md, made from where the facts are defined."""

from __future__ import annotations

from lessor.policyfile.facts import documented
from lessor.policyfile.kinds import Kind, kind_of

BEGIN, END = "<!-- facts -->", "<!-- end of facts -->"


def facts_table() -> str:
    """Every fact with its kind and meaning, as a Markdown table."""
    rows = [f"| `{name}` | {_kind(kind_of(hint))} | {doc} |" for name, (hint, doc) in documented().items()]
    return "\n".join(("| fact | kind | what it is |", "|---|---|---|", *rows))


def _kind(kind: Kind) -> str:
    return f"{kind.name} of {kind.element.name}" if kind.element else kind.name
