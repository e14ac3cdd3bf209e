"""Several machines at once, as people write them: `2 machines x 8 a100`, `2 x 8 x l4`, `two nodes of 8 h100 each`.

A request is for GPUs, and its place knows on how many machines. Read as GPUs alone, such words would ask for those of
one machine and hide that others are missing, so they are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from lessor.domain.request import Need
from lessor.intake.needs import Said
from lessor.typed import Token
from lessor.when.spans import NUMBERS

LONGEST = 10
"""Words in the longest form: `2 nodes with 8 x nvidia a100 80 gb each`."""

MANY = rf"(?P<many>\d{{1,4}}|{'|'.join(NUMBERS)})"
THINGS = r"(?:machine|node|host|server|instance)s?|box(?:es)?"
SEVERAL = re.compile(rf"{MANY}\s(?:{THINGS})(?:\s(?:[x×*]|of|with|each|having))*\s(?P<need>.+?)(?:\seach)?")
ACROSS = re.compile(rf"(?P<need>.+?)\s(?:on|over|across|in)\s{MANY}\s(?:{THINGS})")
PRODUCT = re.compile(r"(?P<many>\d{1,4})\s*[x×*]\s*(?P<need>\d{1,9}(?:\s*[x×*]\s*|\s).+?)(?:\seach)?")


def take_several(
    words: Sequence[Token], at: int, need: Callable[[str], Said | None], say: Callable[[Said, str], bool]
) -> int:
    """How many words from `at` on ask for GPUs of several machines, 0 if they do not; `say` is told what is wrong."""
    plain = ["" if one.quoted else one.text.casefold().rstrip(",;") for one in words[at : at + LONGEST]]
    plain = plain[: plain.index("")] if "" in plain else plain
    for count in range(len(plain), 0, -1):
        text = " ".join(plain[:count])
        for form in (SEVERAL, ACROSS, PRODUCT):
            found = form.fullmatch(text)
            said = need(found["need"]) if found else None
            if found is not None and said is not None and said.count is not None and not need(text):
                told = _told(said, _number(found["many"]), text, each=form is not ACROSS)
                return count if say(told, text) else 0
    return 0


def _told(said: Said, many: int, text: str, *, each: bool) -> Said:
    """With what to do instead, where `said` is what `each` machine is to have, or all of them together.

    None at all is left to whoever looks whether a count can be had.
    """
    if many == 1 or said.count is None:
        return said
    total = Need(said.model, said.count * (many if each else 1), said.memory_gib)
    if not many or not total.count:
        return replace(said, count=0)
    asked = f"{many:,} requests for {said.need}" if each else f"{many:,} requests for what each is to have"
    words = (
        f"'{text[:60]}' asks for {many:,} machines, and a request is for GPUs: ask for {total}, which a cloud or a "
        f"namespace can have on several machines; where a lease is one machine, send {asked}"
    )
    return replace(said, problem=words)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else int(NUMBERS[text])
