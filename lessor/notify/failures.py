"""Why something could not be delivered: never this way, or not now."""

from __future__ import annotations


class UndeliverableError(Exception):
    """Nothing gets there as things are; another try would not help. The text says what an administrator can do."""


class PostponedError(Exception):
    """Not now; the same may succeed later. It may have arrived although the answer was lost."""
