"""What an activity refuses is one line in the worker's log, not the traceback of a crash."""

from __future__ import annotations

import logging

import pytest
from structlog.testing import capture_logs
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.testing import ActivityEnvironment

from activities.errors import as_application_errors
from lessor.contracts import Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from tests.world import MANAGER, World

WHY = "p4de.24xlarge is not offered in us-east-1"

ANSWERS = [
    (Refused("over-quota", WHY), "Refused", ["over-quota"], "refused"),
    (NoCapacityError(WHY, ("p4de.24xlarge",), "full"), "NoCapacity", [["p4de.24xlarge"], "full"], "refused"),
    (PermanentError(WHY, "Unsupported"), "PermanentProviderError", ["Unsupported"], "refused"),
    (RetryableError(WHY, "Throttled"), "RetryableProviderError", ["Throttled"], "it is tried again"),
]


@pytest.mark.parametrize(("error", "kind", "details", "event"), ANSWERS, ids=lambda one: type(one).__name__)
def test_an_answer_that_was_foreseen_is_told_in_one_line(
    error: Exception, kind: str, details: list[object], event: str
) -> None:
    @activity.defn
    def provision() -> None:
        with as_application_errors():
            raise error

    with capture_logs() as lines, pytest.raises(ApplicationError) as told:
        ActivityEnvironment().run(provision)
    found = told.value
    assert (found.type, list(found.details), found.non_retryable) == (kind, details, event == "refused")
    assert (found.category, str(found)) == (ApplicationErrorCategory.BENIGN, f"{kind}: {WHY}")
    (line,) = lines
    assert (line["event"], line["why"], line["log_level"]) == (event, WHY, "warning")


async def test_a_lease_that_cannot_be_created_fills_no_log_with_tracebacks(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.cloud.fail["launch"] = [PermanentError(WHY, "Unsupported")] * 2
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    with caplog.at_level(logging.INFO), capture_logs() as lines:
        await world.act(handle, Verb.APPROVE, MANAGER)
        assert (await handle.result()).state == "failed"
    assert [one for one in caplog.records if one.exc_info and one.name.startswith("temporalio.activity")] == []
    assert [(one["activity"], one["lease"], one["why"]) for one in lines if one["event"] == "refused"] == [
        ("provision", handle.id, WHY)
    ]
