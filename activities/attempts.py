"""What was tried for an order and what it means when nothing is left to try: full zones empty again, limits stay."""

from __future__ import annotations

from lessor.domain.provisioning import Candidate, Order
from lessor.ports import LimitError, NoCapacityError, PermanentError, ProviderError


class Attempts:
    """Keeps the answers of an order's candidates."""

    def __init__(self) -> None:
        self._tried: list[str] = []
        self._short: set[str] = set()
        self._limits: dict[str, LimitError] = {}
        self._last: NoCapacityError | None = None

    def ended(self, error: NoCapacityError) -> None:
        """What an earlier attempt had launched never became usable."""
        self._tried.extend(error.tried)
        self._last = error

    def refused(self, candidate: Candidate, error: NoCapacityError | LimitError) -> None:
        """This candidate cannot be had now; after a limit, no other of its region either (case C12)."""
        if isinstance(error, LimitError):
            self._limits[candidate.region] = error
            return
        self._tried.append(str(candidate))
        self._short.add(candidate.region)
        self._last = error

    def pointless(self, candidate: Candidate) -> bool:
        """The account's limit in its region was met already."""
        return candidate.region in self._limits

    def conclusion(self, order: Order) -> ProviderError:
        """Permanent when waiting helps in none of the regions, else that there is no capacity now, with all words."""
        limits = list(self._limits.values())
        if limits and not self._short - self._limits.keys():
            return limits[0] if len(limits) == 1 else _everywhere(limits)
        if self._last is None:
            return PermanentError(f"nothing in {order.request.place} can fill {order.request.need}", "no-candidate")
        words = f"no capacity now; tried {', '.join(self._tried)}"
        if limits:
            words += f"; the account's limit does not allow it in {_regions(limits)}"
        conclusion = NoCapacityError(words, tuple(self._tried), self._last.code)
        conclusion.__cause__ = self._last
        return conclusion


def _everywhere(limits: list[LimitError]) -> PermanentError:
    each = "; ".join(str(limit) for limit in limits)
    return PermanentError(f"tried in {_regions(limits)}, and none of them can take it: {each}", limits[-1].code)


def _regions(limits: list[LimitError]) -> str:
    return ", ".join(limit.region for limit in limits)
