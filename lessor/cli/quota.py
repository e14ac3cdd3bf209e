"""`lessor quota`: ceilings, what is used of them, what is planned, what is left, and what nobody knows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from lessor.cli.output import Column, print_json, table, tell
from lessor.cli.session import DONE, Session
from lessor.domain.budget import BudgetRoom, frozen, used_up
from lessor.domain.errors import Refused
from lessor.domain.people import Person
from lessor.domain.quota import Headroom, Kind, Then, spell_scope

if TYPE_CHECKING:
    from lessor.accounting import Usage
    from lessor.gateway import Gateway

UNKNOWN = "unknown"
COLUMNS = (
    Column("Whose"),
    Column("What", whole=True),
    Column("Limit", whole=True),
    Column("Used", whole=True),
    Column("Planned", whole=True, spare=2),
    Column("Left", whole=True),
    Column("", spare=1),
)


async def show_quota(session: Session, gateway: Gateway, person: Person, team: str) -> int:
    """Of one team, or of the acting person and all their teams."""
    if not team and not person.teams:
        raise Refused("no-team", "you are in no team; name one, such as `lessor quota research`")
    found = [await gateway.team_usage(key) for key in ([team] if team else person.teams)]
    found += [] if team else [await gateway.person_usage(person)]
    if session.as_json:
        print_json([_facts(usage) for usage in found])
        return DONE
    rows = list(dict.fromkeys(row for usage in found for row in _rows(usage)))
    if rows:
        table("", COLUMNS, rows)
    for usage in found:
        tell(False, {}, _total(usage))
    return DONE


def _rows(usage: Usage) -> list[tuple[str, ...]]:
    return [*map(_held, usage.rooms), *map(_spent, usage.budgets)]


def _held(room: Headroom) -> tuple[str, ...]:
    one = room.quota
    lent = f"+ {room.borrow} borrowed" if room.borrow else ""
    note = ", ".join(filter(None, (lent, "" if one.hard else "soft")))
    figures = (str(one.gpus), str(room.used), "", str(room.free))
    return (spell_scope(one.scope), f"{one.model or 'GPUs'} at once", *figures, note)


def _spent(room: BudgetRoom) -> tuple[str, ...]:
    what = f"{room.model} {_unit(room)} in {room.month}".strip()
    figures = (_figure(room.ceiling), _figure(room.spent), _figure(room.committed), _figure(room.left))
    return (spell_scope(room.scope), what, *figures, _note(room))


def _note(room: BudgetRoom) -> str:
    """Whether it is a soft limit, and what follows when it is used up, or does now."""
    then = {Then.ALERT: "", Then.FREEZE: "no new requests once used up", Then.END: "leases end once used up"}[room.then]
    if used_up(room):
        then = "used up: leases end"
    elif frozen(room):
        then = "used up: no new requests"
    return ", ".join(filter(None, ("" if room.hard else "soft", then)))


def _total(usage: Usage) -> str:
    taken = [f"{_figure(t.spent)} {_unit(t)} used and {_figure(t.committed)} planned" for t in usage.totals]
    held = f"{usage.gpus} GPU{'' if usage.gpus == 1 else 's'} now"
    return f"{spell_scope(usage.account.scopes[0])}: {held}; {usage.totals[0].month}: {', '.join(taken)}."


def _unit(room: BudgetRoom) -> str:
    return "GPU-hours" if room.kind is Kind.GPU_HOURS else room.currency


def _figure(amount: Decimal | None) -> str:
    return UNKNOWN if amount is None else f"{amount:,.2f}".removesuffix(".00")


def _facts(usage: Usage) -> dict[str, object]:
    """The JSON form; amounts are text with all their digits, `null` where unknown."""
    return {
        "scope": usage.account.scopes[0],
        "gpus": usage.gpus,
        "quotas": [_quota_facts(room) for room in usage.rooms],
        "budgets": [_budget_facts(room) | _limit_facts(room) for room in usage.budgets],
        "month": [_budget_facts(total) for total in usage.totals],
    }


def _quota_facts(room: Headroom) -> dict[str, object]:
    one = room.quota
    facts: dict[str, object] = {"scope": one.scope, "model": one.model, "ceiling": one.gpus, "used": room.used}
    return facts | {"borrow": room.borrow, "free": room.free, "hard": one.hard}


def _budget_facts(room: BudgetRoom) -> dict[str, object]:
    facts: dict[str, object] = {"scope": room.scope, "kind": room.kind.value, "model": room.model, "month": room.month}
    facts |= {"spent": room.spent, "committed": room.committed, "currency": room.currency, "hard": room.hard}
    return facts


def _limit_facts(room: BudgetRoom) -> dict[str, object]:
    """What only a limit has, beside what is taken of it."""
    facts: dict[str, object] = {"ceiling": str(room.ceiling), "left": room.left}
    return facts | {"then": room.then.value, "frozen": frozen(room), "used_up": used_up(room)}
