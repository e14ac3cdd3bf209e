"""A lease that may cost so much and no more: its people hear of it first, then what was announced follows."""

from temporalio import workflow

from workflows.book import Book, Courier

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from lessor.contracts import Notice
    from lessor.domain import capping, life
    from lessor.domain.lease import IN_USE

WARNING_RETRY = timedelta(minutes=1)


async def mind_cap(book: Book, courier: Courier) -> None:
    """The step that the cap calls for now: tell how much is used, or stop what was announced (law 4)."""
    step = capping.next_step(book.lease, book.now)
    if step is None or step.at > book.now:
        return
    if step.stops:
        book.apply(capping.stop(book.lease, book.now))
        return
    before = book.lease
    delivery = await courier.say(Notice.CAP)
    lease, now = book.lease, book.now
    if lease.state not in IN_USE or (lease.pause, lease.owner) != (before.pause, before.owner):
        return
    if delivery.delivered:
        book.apply(capping.told(lease, step.percent, delivery.via, now))
    else:
        retry_at = now + min(WARNING_RETRY, lease.terms.notice)
        book.apply(life.warning_undelivered(lease, delivery.problem, retry_at, now))
