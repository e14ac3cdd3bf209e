"""`SweepWorkflow`: reads every place once and compares it with the ledger. A schedule starts it again and again.

What has to be remembered from one sweep to the next (how often a machine was missed) is its result, which the
schedule hands to the next run: counted exactly once however often an activity is retried, and without a table for it.
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls

with workflow.unsafe.imports_passed_through():
    from lessor import contracts
    from lessor.contracts import PlaceReport, RunsReport, SweepInput, SweepOutcome, SweepPlace, SweepRuns
    from lessor.domain.request import Place


@workflow.defn(name=contracts.SWEEP_WORKFLOW)
class SweepWorkflow:
    """One sweep. A place that cannot be read, and a lease that cannot be told, spoil nothing else (law 11)."""

    @workflow.run
    async def run(self, start: SweepInput) -> SweepOutcome:
        before = workflow.get_last_completion_result(SweepOutcome) if workflow.has_last_completion_result() else None
        counted = {report.place: report.missing for report in before.places} if before else {}
        wanted = [SweepPlace(place, counted.get(place, ())) for place in start.places]
        reports = tuple(await asyncio.gather(*(_read(one) for one in wanted)))
        left_over = tuple(lease_id for report in reports for lease_id in report.left_over)
        outcome = SweepOutcome(reports, await _resume(SweepRuns(left_over)))
        await asyncio.gather(*(_attribute(report.place) for report in reports if report.complete))
        workflow.set_current_details(_details(outcome))
        return outcome


async def _read(wanted: SweepPlace) -> PlaceReport:
    try:
        report = await calls.read_place(wanted)
    except FailureError as error:
        report = PlaceReport(wanted.place, False, missing=wanted.missing, problem=calls.reason(error))
    if report.problem:
        workflow.logger.warning("sweep of %s: %s", wanted.place, report.problem)
    return report


async def _resume(wanted: SweepRuns) -> RunsReport:
    try:
        report = await calls.resume_lost(wanted)
    except FailureError as error:
        report = RunsReport(problem=calls.reason(error))
    if report.problem:
        workflow.logger.warning("sweep of workflows: %s", report.problem)
    return report


async def _attribute(place: Place) -> None:
    try:
        await calls.attribute(place)
    except FailureError as error:
        workflow.logger.warning("nothing was attributed in %s: %s", place, calls.reason(error))


def _details(outcome: SweepOutcome) -> str:
    lines = [
        f"- **{report.place}**: {report.resources} resources, {report.leases} open leases, {len(report.told)} told"
        if report.complete
        else f"- **{report.place}**: not read whole, nothing was changed"
        for report in outcome.places
    ]
    lines.append(f"- {outcome.runs.leases} workflows looked at, {len(outcome.runs.resumed)} leases taken down")
    return "\n".join(lines)
