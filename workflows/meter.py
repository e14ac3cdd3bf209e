"""`MeterWorkflow`: reads what every GPU does, once. A schedule starts it again and again.

A tick is known by the time that the schedule meant, not by when it ran: started late, twice or again, it is the same.
Pages that nobody has heard are its result, which the next run takes up; all else that lasts is in the ledger.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import FailureError

from workflows import calls, tick_calls
from workflows.paging import page_all

with workflow.unsafe.imports_passed_through():
    from lessor import contracts
    from lessor.contracts import MeterInput, MeterReport, MeterTick, PageInput

MEANT_FOR = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")
"""When the schedule meant this run to start; the server sets it."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@workflow.defn(name=contracts.METER_WORKFLOW)
class MeterWorkflow:
    """One tick. A source that says nothing, and a lease that cannot be told, spoil nothing else (law 11)."""

    @workflow.run
    async def run(self, start: MeterInput) -> MeterReport:
        before = workflow.get_last_completion_result(MeterReport) if workflow.has_last_completion_result() else None
        wanted = MeterTick(floored(_meant_for(), start.every), start.every)
        if not start.sources:
            await _look_at_budgets(start, wanted.at)
            return MeterReport(wanted.at, stored=False)
        try:
            report = await tick_calls.tick(wanted)
        except FailureError as error:
            report = MeterReport(wanted.at, False, before.sources if before else (), problem=calls.reason(error))
        if report.problem:
            workflow.logger.warning("tick of %s: %s", wanted.at, report.problem)
        workflow.set_current_details(_details(report))
        await _look_at_budgets(start, report.at)
        pages = (*(before.unheard if before else ()), *report.pages, *await _tidied(report, before))
        return replace(report, unheard=await page_all(pages), pages=())


def floored(at: datetime, every: timedelta) -> datetime:
    """The end of the latest tick that is over by then, counted in elapsed time (case B20)."""
    return at - (at - EPOCH) % every


def _meant_for() -> datetime:
    return workflow.info().typed_search_attributes.get(MEANT_FOR) or workflow.info().start_time


async def _tidied(report: MeterReport, before: MeterReport | None) -> tuple[PageInput, ...]:
    """Once in an hour. A tick may do without: the next hour's does what this one did not."""
    if before is not None and floored(before.at, HOUR) == floored(report.at, HOUR):
        return ()
    try:
        return await tick_calls.tidy(report.at)
    except FailureError as error:
        workflow.logger.warning("beside the tick of %s: %s", report.at, calls.reason(error))
        return ()


async def _look_at_budgets(start: MeterInput, at: datetime) -> None:
    """Whose money is used up, where leases end for that."""
    if not start.budgets:
        return
    try:
        await tick_calls.check_budgets(at)
    except FailureError as error:
        workflow.logger.warning("budgets at %s: %s", at, calls.reason(error))


def _details(report: MeterReport) -> str:
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.verdicts.items())) or "none"
    lines = [
        f"- {report.at:%Y-%m-%d %H:%M:%S} UTC: {report.leases} leases ({verdicts}), {len(report.told)} told",
        *(
            f"- **{source.name}**: {source.series} GPUs and machines"
            if source.ok
            else f"- **{source.name}**: silent for {source.silent} ticks: {source.problem}"
            for source in report.sources
        ),
        *(f"- {words}" for words in (report.brake, report.problem) if words),
    ]
    return "\n".join(lines)
