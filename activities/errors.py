"""Turns our own errors into application errors whose type names the retry policies know (lessor/retries.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.exceptions import ApplicationError

from lessor.domain.errors import Refused
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.retries import ErrorType


@contextmanager
def as_application_errors() -> Iterator[None]:
    """Re-raise refusals and provider errors as `ApplicationError`, chained; `details` carry what the workflow reads."""
    try:
        yield
    except Refused as error:
        raise ApplicationError(str(error), error.code, type=ErrorType.REFUSED, non_retryable=True) from error
    except NoCapacityError as error:
        tried = list(error.tried)
        raise ApplicationError(str(error), tried, error.code, type=ErrorType.NO_CAPACITY, non_retryable=True) from error
    except PermanentError as error:
        raise ApplicationError(str(error), error.code, type=ErrorType.PERMANENT, non_retryable=True) from error
    except RetryableError as error:
        raise ApplicationError(str(error), error.code, type=ErrorType.RETRY) from error
