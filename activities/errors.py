"""Turns our own errors into application errors whose type names the retry policies know (lessor/retries.py).

Each is an answer that somebody foresaw, so it is one line in the log of the worker. Without the category the client
would log it as a crash, with its whole traceback at every attempt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from lessor.domain.errors import Refused
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.retries import ErrorType

log = structlog.get_logger("lessor.worker")

WORDS_MOST = 500


@contextmanager
def as_application_errors() -> Iterator[None]:
    """Re-raise refusals and provider errors as `ApplicationError`, chained; `details` carry what the workflow reads."""
    try:
        yield
    except Refused as error:
        raise _answer(error, ErrorType.REFUSED, error.code) from error
    except NoCapacityError as error:
        raise _answer(error, ErrorType.NO_CAPACITY, list(error.tried), error.code) from error
    except PermanentError as error:
        raise _answer(error, ErrorType.PERMANENT, error.code) from error
    except RetryableError as error:
        raise _answer(error, ErrorType.RETRY, error.code) from error


def _answer(error: Exception, kind: ErrorType, *details: object) -> ApplicationError:
    found = activity.info()
    again = kind is ErrorType.RETRY
    log.warning(
        "it is tried again" if again else "refused",
        activity=found.activity_type,
        lease=found.workflow_id,
        attempt=found.attempt,
        why=" ".join(str(error).split())[:WORDS_MOST],
    )
    benign = ApplicationErrorCategory.BENIGN
    return ApplicationError(str(error), *details, type=kind, non_retryable=not again, category=benign)
