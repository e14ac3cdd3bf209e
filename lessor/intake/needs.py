"""GPUs as people ask for them: `2 x a100 80gb`, `a100 x2`, `4 gpus with 80 gb`, `g5.xlarge`, `2 x nvidia.com/gpu`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lessor.domain.request import Need

Canonical = Callable[[str], str | None]
"""From what people call a GPU model to its name in the catalogue."""

LONGEST = 6
"""Words in the longest form: `2 x nvidia a100 80 gb`."""

NAMES_GPUS = re.compile(r"\d|\b(gpu|card)", re.IGNORECASE)
"""Every name of GPUs has a digit or says so."""

TIMES = r"\s*[x×*]\s*"
TYPE = re.compile(
    r"(?:(\d{1,9})(?:\s*[x×*]\s*|\s))?([a-z][a-z0-9-]*\.(?:\d{0,2}x?large|metal(?:-\d+xl)?|medium|small|micro|nano))"
)
COUNTED = re.compile(rf"(?:(\d{{1,9}})(?:{TIMES}|\s))?(.*?[a-z].*?)(?:{TIMES}(\d{{1,9}}))?")
GPUS = re.compile(
    rf"(?:(\d{{1,9}})(?:{TIMES}|\s))?(?:gpus?|cards?)(?:\s(?:with|of|at\sleast))*(?:\s*(\d{{1,4}})\s?(?:gb|gib|g))?(?:\seach)?"
)
MEMORY = re.compile(rf"(?:(\d{{1,9}}){TIMES})?(\d{{1,4}})\s?(?:gb|gib)(?:\s(?:gpus?|cards?|each))*")
RESOURCE = re.compile(rf"(?:(\d{{1,9}}){TIMES})?([a-z0-9][a-z0-9.-]{{0,252}}/[a-z0-9][a-z0-9._-]{{0,62}})")
"""A resource of a cluster. In a text it needs its count: without one it could be any address in a purpose."""
UNKNOWN = re.compile(rf"(\d{{1,9}}){TIMES}([a-z0-9]\S*)")

NEAR, NEAR_MOST, NAMED_MOST = 0.5, 3, 8

POOLS = "machines"
"""The provider whose machines have names of their own."""


@dataclass(frozen=True)
class Said:
    """What a few words say of the need; empty, 0 and `None` where they say nothing.

    `unknown` is no model that the catalogue has: a machine of a pool may be called so.
    """

    model: str = ""
    count: int | None = None
    memory_gib: int = 0
    instance_type: str = ""
    problem: str = ""
    unknown: str = ""

    def joined(self, other: Said) -> Said | None:
        """Both together; `None` when they say two things of the same."""
        if self.instance_type and (other.instance_type or other.model):
            return None
        if other.instance_type and self.model:
            return None
        if any(mine and theirs and mine != theirs for mine, theirs in zip(self._parts, other._parts, strict=True)):
            return None
        return Said(
            self.model or other.model,
            other.count if self.count is None else self.count,
            self.memory_gib or other.memory_gib,
            self.instance_type or other.instance_type,
            self.problem or other.problem,
            self.unknown or other.unknown,
        )

    @property
    def need(self) -> Need | None:
        if self.instance_type:
            counted = "/" in self.instance_type and self.count is not None
            return Need(count=(self.count or 0) if counted else 1, instance_type=self.instance_type)
        if not self.model and self.count is None and not self.memory_gib:
            return None
        return Need(model=self.model, count=1 if self.count is None else self.count, memory_gib=self.memory_gib)

    @property
    def _parts(self) -> tuple[str, str, str]:
        count = "" if self.count is None else str(self.count)
        return self.model, count, str(self.memory_gib or "")


def read_need(text: str, canonical: Canonical) -> Said | None:
    """What the whole of `text` (single spaces) says of the need; `None` if it speaks of something else."""
    word = text.casefold().rstrip(",;")
    exact = TYPE.fullmatch(word)
    if exact:
        return _exact(exact, text)
    resource = RESOURCE.fullmatch(word)
    if resource and resource[1]:
        return Said(instance_type=resource[2], count=int(resource[1]))
    for form in (GPUS, MEMORY):
        match = form.fullmatch(word)
        if match:
            return Said(count=_number(match[1]), memory_gib=int(match[2] or 0)) if any(match.groups()) else None
    match = COUNTED.fullmatch(word)
    model = canonical(match[2]) or canonical(match[2].removesuffix("s")) if match else None
    if match and model:
        return Said(model=model, count=_number(match[1] or match[3]))
    return None


def read_resource(text: str) -> Said | None:
    """A resource of a cluster by its name alone, where nothing else can be meant."""
    match = RESOURCE.fullmatch(text.casefold())
    return Said(instance_type=match[2], count=_number(match[1])) if match else None


def read_unknown(text: str) -> Said | None:
    """`2 x z999`: it asks for GPUs, but of a model that nobody knows."""
    match = UNKNOWN.fullmatch(text.casefold())
    return Said(count=int(match[1]), unknown=match[2]) if match else None


def in_place(said: Said, provider: str, models: Sequence[str] = ()) -> Said:
    """What an unknown word means in a place: in a pool the name of a machine, and the pool knows whether it has one.

    Elsewhere it is a mistake, told with those of `models` that look like it, or else with what there is.
    """
    if not said.unknown:
        return Said()
    if provider == POOLS and not (said.model or said.instance_type):
        return Said(model=said.unknown)
    return Said(problem=f"'{said.unknown[:40]}' is no GPU model that is known here{_instead(said.unknown, models)}")


def _instead(word: str, models: Sequence[str]) -> str:
    """`; did you mean H100?`, `; there are: T4, L4 and 9 more`, or nothing where no models are known."""
    by_form = {model.casefold(): model for model in models}
    close = difflib.get_close_matches(word.casefold(), by_form, n=NEAR_MOST, cutoff=NEAR)
    if close:
        return f"; did you mean {' or '.join(by_form[one] for one in close)}?"
    more = f" and {len(models) - NAMED_MOST} more" if len(models) > NAMED_MOST else ""
    return f"; there are: {', '.join(models[:NAMED_MOST])}{more}" if models else ""


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _exact(match: re.Match[str], text: str) -> Said:
    count = int(match[1] or 1)
    if count == 1:
        return Said(instance_type=match[2])
    return Said(
        instance_type=match[2],
        problem=f"'{text[:40]}' asks for {count:,} machines; one request is for one machine: ask for GPUs, such as "
        "4 x a10g, or send several requests",
    )
