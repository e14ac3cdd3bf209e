"""Lease ids: short enough to type, derived from the interaction so that a redelivered click starts nothing new."""

from __future__ import annotations

import hashlib
import re
import unicodedata

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
LEASE_ID = re.compile(rf"gpu-[{CROCKFORD}]{{8}}")


def lease_id(interaction: str, salt: int = 0) -> str:
    """`gpu-` and eight lower-case Crockford base32 letters from the interaction's business key.

    `salt` counts up only when the id is taken by another interaction (a collision must never swallow a request).
    """
    digest = hashlib.sha256(f"{salt}\x00{interaction}".encode()).digest()
    number = int.from_bytes(digest[:5], "big")
    return "gpu-" + "".join(CROCKFORD[(number >> shift) & 31] for shift in range(35, -1, -5))


def parse_lease_id(text: str) -> str | None:
    """The lease id that a person typed or pasted, or `None`.

    Any case, `gpu-` optional, o for 0, i and l for 1; quotes, other dashes and invisible characters of chats are read
    over (cases A15, A17).
    """
    seen = "".join(c for c in text if unicodedata.category(c) != "Cf")
    word = re.sub(r"[\u2010-\u2015\u2212]", "-", seen).strip().strip("`*_~.,;:'\"\u2018\u2019\u201c\u201d<>()").lower()
    body = word.removeprefix("gpu-").replace("o", "0").replace("i", "1").replace("l", "1")
    candidate = f"gpu-{body}"
    return candidate if LEASE_ID.fullmatch(candidate) else None
