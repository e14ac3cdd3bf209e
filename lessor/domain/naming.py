"""Whom somebody means who typed a person's name in one of its forms (case F36)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lessor.domain.people import Person

MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")


def meant(text: str, people: Iterable[Person]) -> tuple[Person, ...]:
    """Everybody who may be meant by an id, a mention, an e-mail address, a login or a name, whatever its letter case.

    An id or address means one person only; logins (what stands before the @ of an address) and names may be several
    people's, and whoever asks has to see to it that one person is meant.
    """
    mention = MENTION.fullmatch(text.strip())
    word = (mention.group(1) if mention else text.strip()).removeprefix("@").casefold()
    if not word:
        return ()
    known = tuple(people)
    exact = tuple(p for p in known if word in {i.casefold() for i in p.all_ids})
    return exact or tuple(p for p in known if word in _logins(p))


def _logins(person: Person) -> frozenset[str]:
    before_at = {i.partition("@")[0].casefold() for i in person.all_ids if "@" in i}
    return frozenset(before_at | {person.name.casefold()} if person.name else before_at)
