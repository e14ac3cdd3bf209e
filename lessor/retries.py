"""Type names of application errors and the retry policies that know them, in one place."""

from datetime import timedelta
from enum import StrEnum

from temporalio.common import RetryPolicy


class ErrorType(StrEnum):
    """Type names of application errors as they stand in workflow history."""

    REFUSED = "Refused"
    NO_CAPACITY = "NoCapacity"
    PERMANENT = "PermanentProviderError"
    RETRY = "RetryableProviderError"
    TOO_LARGE = "TooLarge"
    RENEWING = "Renewing"


PERMANENT_ERRORS = [ErrorType.REFUSED.value, ErrorType.NO_CAPACITY.value, ErrorType.PERMANENT.value]

RETRY_FAST = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(seconds=30),
    non_retryable_error_types=PERMANENT_ERRORS,
)
"""For the ledger and other things of our own: they come back, so there is no limit on attempts."""

RETRY_PROVIDER = RetryPolicy(
    initial_interval=timedelta(seconds=2),
    maximum_interval=timedelta(minutes=2),
    non_retryable_error_types=PERMANENT_ERRORS,
)
"""For clouds: throttling and outages are retried; what can never heal fails at once."""

RETRY_MESSAGE = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(minutes=1),
    maximum_attempts=8,
    non_retryable_error_types=PERMANENT_ERRORS,
)
"""For messages: about two minutes. Then a lease warns again by its own clock, and keeps other messages as late ones."""

RETRY_LATE = RetryPolicy(
    initial_interval=timedelta(minutes=1),
    maximum_interval=timedelta(minutes=5),
    non_retryable_error_types=PERMANENT_ERRORS,
)
"""For messages that did not get through at first: until their time is over. Tries of an activity cost no events."""


RETRY_NEXT_TIME = RetryPolicy(maximum_attempts=1)
"""For what the next sweep does anyway."""
