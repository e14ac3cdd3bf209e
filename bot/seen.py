"""What was delivered before: a redelivery is acknowledged and has no second effect.

This memory is quick and local. What must hold across replicas and restarts is held by the keys in the ledger and the
workflows: a request is derived from its interaction, an act from its click.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

KEPT_SECONDS = 900.0
"""Longer than Slack's last retry, about five minutes after the first attempt."""

KEPT_AT_MOST = 100_000


class Seen:
    """Keys of the last fifteen minutes."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._keys: OrderedDict[str, float] = OrderedDict()

    @property
    def count(self) -> int:
        return len(self._keys)

    def before(self, key: str) -> bool:
        """Whether the key was asked about before; from now on it was."""
        self._forget()
        if key in self._keys:
            return True
        self._keys[key] = self._now()
        return False

    def _forget(self) -> None:
        horizon = self._now() - KEPT_SECONDS
        while self._keys and (len(self._keys) > KEPT_AT_MOST or next(iter(self._keys.values())) < horizon):
            self._keys.popitem(last=False)
