"""What was tried for an order and what it means when nothing is left to try: full zones empty again, refusals stay."""

from __future__ import annotations

from lessor.domain.provisioning import Candidate, Order
from lessor.ports import NoCapacityError, PermanentError, ProviderError


class Attempts:
    """Keeps the answers of an order's candidates."""

    def __init__(self) -> None:
        self._tried: list[str] = []
        self._short: set[str] = set()
        self._refusals: dict[str, PermanentError] = {}
        self._last: NoCapacityError | None = None

    def ended(self, error: NoCapacityError) -> None:
        """What an earlier attempt had launched never became usable."""
        self._tried.extend(error.tried)
        self._last = error

    def refused(self, candidate: Candidate, error: NoCapacityError | PermanentError) -> None:
        """This candidate cannot be had now; after a permanent refusal, no other of its region either (case C12)."""
        if isinstance(error, PermanentError):
            self._refusals[candidate.region] = error
            return
        self._tried.extend(error.tried or (str(candidate),))
        self._short.add(candidate.region)
        self._last = error

    def pointless(self, candidate: Candidate) -> bool:
        """Its region has refused the order for good already."""
        return candidate.region in self._refusals

    def conclusion(self, order: Order) -> ProviderError:
        """Permanent when waiting helps in none of the regions, else that there is no capacity now, with all words."""
        if self._refusals and not self._short - self._refusals.keys():
            return self._refused_everywhere()
        if self._last is None:
            return PermanentError(f"nothing in {order.request.place} can fill {order.request.need}", "no-candidate")
        words = f"no capacity now; tried {', '.join(self._tried)}"
        for region, refusal in self._refusals.items():
            words += f"; in {region} it is not possible at all: {refusal}"
        conclusion = NoCapacityError(words, tuple(self._tried), self._last.code)
        conclusion.__cause__ = self._last
        return conclusion

    def _refused_everywhere(self) -> PermanentError:
        first, *others = self._refusals.values()
        if not others:
            return first
        each = "; ".join(f"{region}: {refusal}" for region, refusal in self._refusals.items())
        return PermanentError(f"none of {', '.join(self._refusals)} can take it. {each}", others[-1].code)
