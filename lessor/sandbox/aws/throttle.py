"""EC2's token buckets, per account, region and action, with the sizes that AWS publishes.

Source: Amazon EC2 Developer Guide, "Request throttling for the Amazon EC2 API" (ec2-api-throttling), the tables
"Request token limits" and "Resource token limits".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lessor.sandbox.aws.errors import AwsError


@dataclass(frozen=True)
class BucketSize:
    """Tokens a full bucket holds and tokens that flow back each second."""

    capacity: float
    refill: float


NON_MUTATING = BucketSize(100, 20)
UNFILTERED = BucketSize(50, 10)
MUTATING = BucketSize(50, 5)
REQUEST_BUCKETS = {
    "AttachVolume": BucketSize(100, 5),
    "CreateSnapshot": BucketSize(100, 5),
    "CreateTags": BucketSize(100, 10),
    "CreateVolume": BucketSize(100, 5),
    "DeleteSnapshot": BucketSize(100, 5),
    "DeleteTags": BucketSize(100, 10),
    "DeleteVolume": BucketSize(100, 5),
    "DetachVolume": BucketSize(100, 5),
    "RunInstances": BucketSize(5, 2),
    "StartInstances": BucketSize(5, 2),
    "TerminateInstances": BucketSize(100, 5),
}
RESOURCE_BUCKETS = {
    "RunInstances": BucketSize(1000, 2),
    "StartInstances": BucketSize(1000, 2),
    "StopInstances": BucketSize(1000, 20),
    "TerminateInstances": BucketSize(1000, 20),
}


@dataclass
class _Bucket:
    size: BucketSize
    tokens: float
    at: datetime

    def refill(self, now: datetime) -> None:
        elapsed = max(0.0, (now - self.at).total_seconds())
        self.tokens, self.at = min(self.size.capacity, self.tokens + elapsed * self.size.refill), now


class Throttle:
    """The buckets of all accounts and regions; `admit` takes tokens or refuses like EC2."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, ...], _Bucket] = {}

    def admit(self, account: str, region: str, action: str, *, filtered: bool, resources: int, now: datetime) -> None:
        """Take one request token and `resources` resource tokens, or raise `RequestLimitExceeded` and take none."""
        wanted = [(self._bucket(("request", account, region, action), request_bucket(action, filtered), now), 1)]
        if action in RESOURCE_BUCKETS:
            key = ("resource", account, region, action)
            wanted.append((self._bucket(key, RESOURCE_BUCKETS[action], now), resources))
        if any(bucket.tokens < tokens for bucket, tokens in wanted):
            raise request_limit_exceeded()
        for bucket, tokens in wanted:
            bucket.tokens -= tokens

    def _bucket(self, key: tuple[str, ...], size: BucketSize, now: datetime) -> _Bucket:
        bucket = self._buckets.setdefault(key, _Bucket(size, size.capacity, now))
        bucket.refill(now)
        return bucket


def request_bucket(action: str, filtered: bool) -> BucketSize:
    """The request bucket of an action; Describe calls without filter, id or page size have a smaller one."""
    if action in REQUEST_BUCKETS:
        return REQUEST_BUCKETS[action]
    if action.startswith(("Describe", "Get", "List")):
        return NON_MUTATING if filtered else UNFILTERED
    return MUTATING


def request_limit_exceeded() -> AwsError:
    return AwsError("RequestLimitExceeded", "Request limit exceeded.", 503)
