"""`PeopleSweepWorkflow`: once a day, looks whose accounts do not work any more and tells their leases (case F01)."""

from collections.abc import Iterable
from dataclasses import replace

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls, people_calls
from workflows.paging import page_all

with workflow.unsafe.imports_passed_through():
    from lessor import contracts
    from lessor.contracts import Alarm, PageInput, PeopleReport

UNREAD = 3
"""Looks in a row that could not read everybody after which administrators are paged: nobody watches them any more."""


@workflow.defn(name=contracts.PEOPLE_WORKFLOW)
class PeopleSweepWorkflow:
    """One look at all owners and approvers. What cannot be read changes nothing and is read again the next time."""

    @workflow.run
    async def run(self) -> PeopleReport:
        before = workflow.get_last_completion_result(PeopleReport) if workflow.has_last_completion_result() else None
        try:
            report = await people_calls.sweep_people()
        except FailureError as error:
            report = PeopleReport(problem=calls.reason(error))
        unread = (before.unread if before else 0) + 1 if report.unknown or report.problem else 0
        report = replace(report, unread=unread)
        workflow.set_current_details(_details(report))
        waiting = before.unheard if before else ()
        return replace(report, unheard=await page_all((*waiting, *_pages(report))))


def _pages(report: PeopleReport) -> Iterable[PageInput]:
    """What administrators have to hear of (law 5): the brake, and people whom nobody could look at for days."""
    if report.brake:
        yield PageInput(Alarm.BRAKE, "people", report.brake)
    if report.unread >= UNREAD:
        problem = report.problem or f"{report.unknown} of {report.owners} owners could not be looked up"
        yield PageInput(Alarm.UNREAD, "people", problem)


def _details(report: PeopleReport) -> str:
    lines = [
        f"- {report.leases} open leases of {report.owners} owners, {report.unknown} of them unknown",
        f"- {len(report.left)} leases whose owner has left: {', '.join(report.left) or 'none'}",
        f"- {len(report.restaffed)} leases whose approvers changed: {', '.join(report.restaffed) or 'none'}",
        *(f"- {words}" for words in (report.brake, report.problem) if words),
    ]
    return "\n".join(lines)
