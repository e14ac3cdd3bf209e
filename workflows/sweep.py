"""`SweepWorkflow`: reads every place once and compares it with the ledger. A schedule starts it again and again.

What has to be remembered from one sweep to the next (how often a machine was missed) is its result, which the
schedule hands to the next run: counted exactly once however often an activity is retried, and without a table for it.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls, sweep_calls
from workflows.paging import page_all

with workflow.unsafe.imports_passed_through():
    from lessor import contracts
    from lessor.contracts import (
        Alarm,
        PageInput,
        PlaceReport,
        RunsReport,
        SweepInput,
        SweepOutcome,
        SweepPlace,
        SweepRuns,
    )
    from lessor.domain import sweep
    from lessor.domain.request import Place


@workflow.defn(name=contracts.SWEEP_WORKFLOW)
class SweepWorkflow:
    """One sweep. A place that cannot be read, and a lease that cannot be told, spoil nothing else (law 11)."""

    @workflow.run
    async def run(self, start: SweepInput) -> SweepOutcome:
        before = workflow.get_last_completion_result(SweepOutcome) if workflow.has_last_completion_result() else None
        earlier = {report.place: report for report in before.places} if before else {}
        reports = tuple(await asyncio.gather(*(_read(place, earlier.get(place)) for place in start.places)))
        left_over = tuple(lease_id for report in reports for lease_id in report.left_over)
        outcome = SweepOutcome(reports, await _resume(SweepRuns(left_over)))
        await asyncio.gather(*(_attribute(report.place) for report in reports if report.complete))
        workflow.set_current_details(_details(outcome))
        return replace(outcome, unheard=await page_all((*(before.unheard if before else ()), *_pages(outcome))))


async def _read(place: Place, before: PlaceReport | None) -> PlaceReport:
    wanted = SweepPlace(place, before.missing if before else ())
    try:
        report = await sweep_calls.read_place(wanted)
    except FailureError as error:
        report = PlaceReport(place, False, missing=wanted.missing, problem=calls.reason(error))
    if report.problem:
        workflow.logger.warning("sweep of %s: %s", place, report.problem)
    return report if report.complete else replace(report, unread=1 + (before.unread if before else 0))


async def _resume(wanted: SweepRuns) -> RunsReport:
    try:
        report = await sweep_calls.resume_lost(wanted)
    except FailureError as error:
        report = RunsReport(problem=calls.reason(error))
    if report.problem:
        workflow.logger.warning("sweep of workflows: %s", report.problem)
    return report


async def _attribute(place: Place) -> None:
    try:
        await sweep_calls.attribute(place)
    except FailureError as error:
        workflow.logger.warning("nothing was attributed in %s: %s", place, calls.reason(error))


def _pages(outcome: SweepOutcome) -> Iterable[PageInput]:
    """What administrators have to hear of (law 5): the brake, what nobody watches, leases that nobody ends."""
    for report in outcome.places:
        if report.brake:
            yield PageInput(Alarm.BRAKE, str(report.place), report.brake)
        if report.unread >= sweep.UNREAD:
            yield PageInput(Alarm.UNREAD, str(report.place), report.problem)
        if report.blind:
            yield PageInput(Alarm.RIGHTS, str(report.place), report.blind)
        for machine, words in report.faults:
            yield PageInput(Alarm.UNFIT, f"{report.place}/{machine}", words)
    runs = outcome.runs
    if runs.brake:
        yield PageInput(Alarm.BRAKE, "workflows", runs.brake)
    over = {lease_id for report in outcome.places for lease_id in report.left_over}
    resumed = [lease_id for lease_id in runs.resumed if lease_id not in over]
    if resumed:
        yield PageInput(Alarm.NO_WORKFLOW, ", ".join(resumed), "a new workflow takes down what they have left")
    if runs.stranded:
        yield PageInput(Alarm.NO_WORKFLOW, ", ".join(runs.stranded), f"nothing was done about them: {runs.problem}")
    if runs.unmetered:
        yield PageInput(Alarm.METER_SILENT, "meter", runs.unmetered)


def _details(outcome: SweepOutcome) -> str:
    lines = [
        f"- **{report.place}**: {report.resources} resources, {report.leases} open leases, {len(report.told)} told"
        if report.complete
        else f"- **{report.place}**: not read whole, nothing was changed"
        for report in outcome.places
    ]
    lines.append(f"- {outcome.runs.leases} workflows looked at, {len(outcome.runs.resumed)} leases taken down")
    return "\n".join(lines)
