"""From what people call a GPU to what the catalogue calls it: `a100 80 gb`, `NVIDIA A100-SXM4-80GB`, `A10`."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

NOISE = re.compile(r"\b(nvidia|tesla|geforce|quadro|amd|instinct|gpus?|cards?|sxm\d?|pcie|oam|hbm\d?e?|nvl)\b")
MEMORY = re.compile(r"(?<![\w.])(\d{1,4})\s*(?:gib|gb|g)\b")


@dataclass(frozen=True)
class Words:
    """What a text says: the model's letters and digits only, and the memory of one GPU in GB (0 if not said)."""

    model: str
    memory_gib: int = 0


def words(text: str) -> Words:
    """Split a human name for a GPU into model and memory. Any spelling, spacing, case and dash is the same."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", text[:200]) if unicodedata.category(c) != "Cf")
    plain = re.sub(r"[\s_\-‐-―/]+", " ", visible).casefold()
    memory = MEMORY.search(plain)
    if memory:
        plain = plain[: memory.start()] + " " + plain[memory.end() :]
    return Words(squeezed(NOISE.sub(" ", plain)), int(memory.group(1)) if memory else 0)


def squeezed(text: str) -> str:
    """Letters and digits only, lower case: the form in which names are compared."""
    return re.sub(r"[^a-z0-9]+", "", text.casefold())
