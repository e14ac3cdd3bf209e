"""A later end, or the way back from grace: what the policy says, and who has to be asked, is looked up first."""

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls
from workflows.book import Book

with workflow.unsafe.imports_passed_through():
    from datetime import datetime

    from lessor.contracts import Act, Verb, Weighed
    from lessor.domain import extension
    from lessor.domain.authority import require_allowed, require_covered
    from lessor.domain.errors import Refused
    from lessor.domain.lease import Change, Lease
    from lessor.domain.people import Person
    from workflows.acts import told_from, transition


VERBS = frozenset({Verb.EXTEND, Verb.GRANT, Verb.RESTORE})


async def change(book: Book, act: Act, person: Person) -> Change:
    """The later end, the question whether it is allowed, or the last answer to that. Raises `Refused`.

    It is judged before the policy is asked, and again afterwards, since the lease may have changed meanwhile.
    """
    first = transition(book.lease, act, person, book.now)
    if act.verb is Verb.GRANT:
        return await _granted(book, act, person, first)
    if act.until is None:
        raise Refused("no-end", f"to {act.verb.value} a lease, say until when")
    found = await _weigh(book.lease, act.until, person)
    now = book.now
    again = transition(book.lease, act, person, now)
    if act.verb is Verb.RESTORE:
        require_covered(book.lease, found.decision, person)
        return again
    return told_from(act, extension.decide(book.lease, act.until, person, act.reason, found.decision, found.steps, now))


async def _granted(book: Book, act: Act, person: Person, first: Change) -> Change:
    """The policy, and what it costs of budgets, once nobody has to be asked any more."""
    wish = book.lease.wish
    if first.lease.wish is not None or wish is None:
        return first
    found = await _weigh(book.lease, wish.until, person, granted=True)
    require_allowed(book.lease, found.decision)
    return transition(book.lease, act, person, book.now)


async def _weigh(lease: Lease, until: datetime, person: Person, *, granted: bool = False) -> Weighed:
    try:
        return await calls.weigh(lease, until, person, granted=granted)
    except FailureError as error:
        raise Refused("policy", calls.reason(error)) from error
