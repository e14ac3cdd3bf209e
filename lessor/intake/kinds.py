"""The kind of lease as people say it: `namespace 4 x a100`, `as a workspace`, `in a namespace`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lessor.domain.request import LeaseKind
from lessor.intake.draft import OfferedPlace
from lessor.typed import Token

KINDS = {kind.value: kind for kind in LeaseKind}
LEADS = frozenset({"as", "in", "with"})
ARTICLES = frozenset({"a", "an", "one", "my", "own"})


def take_kind(
    words: Sequence[Token], at: int, places: Sequence[OfferedPlace], say: Callable[[str], object], *, prose: bool
) -> int:
    """How many words from `at` on name a kind of lease, 0 if they mean something else; `say` is told the kind.

    In a `prose` that has begun, only `as` makes it one: a purpose may speak of namespaces. Where no place has a choice
    of kinds such words are never one; `machine` alone means the thing, not the kind.
    """
    plain = [("" if one.quoted else one.text.casefold().rstrip(",;")) for one in words[at : at + 3]]
    lead = plain[0] if plain and plain[0] in LEADS else ""
    skipped = 1 if lead else 0
    skipped += 1 if lead and len(plain) > skipped and plain[skipped] in ARTICLES else 0
    word = plain[skipped] if len(plain) > skipped else ""
    offered = {kind for place in places for kind in place.kinds}
    if word not in KINDS or offered <= {LeaseKind.MACHINE}:
        return 0
    if lead != "as" and (prose or word == LeaseKind.MACHINE.value):
        return 0
    say(word)
    return skipped + 1
