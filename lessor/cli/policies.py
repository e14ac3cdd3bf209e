"""`lessor policy test` and `lessor policy replay`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lessor.cli.output import Column, print_json, refuse, table, tell
from lessor.cli.session import DONE, REFUSED, Session, refusals
from lessor.config import load, load_named
from lessor.config.durations import duration
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.policy import Decision
from lessor.policyfile import compile_policy
from lessor.policyfile.replaying import Difference, Replay, replay
from lessor.policyfile.suite import Result, run_suite
from lessor.ports import LeaseQuery
from lessor.settings import SettingsError, read_settings

if TYPE_CHECKING:
    from lessor.ledger import SqlLedger

PAGE = 500


def test_policy(session: Session, file: Path) -> int:
    """0 when every decision is as expected; 1, and every difference, when one is not; 2 for a file that is wrong."""
    with refusals(session.as_json):
        config = load(session.config or read_settings().lessor_config)
        policy = compile_policy(config)
        results = run_suite(file, config, policy)
        failed = [one for one in results if one.differences]
        if session.as_json:
            print_json(
                {
                    "ok": not failed,
                    "file": str(file),
                    "policy_version": policy.version,
                    "tests": [_result_facts(one) for one in results],
                }
            )
            return REFUSED if failed else DONE
        for one in failed:
            refuse(False, "different", "\n".join(_failed(file, one)))
        summary = f"{len(results) - len(failed)} of {len(results)} decisions are as expected"
        tell(False, {}, f"{summary}; policy {policy.version}")
        return REFUSED if failed else DONE


def replay_policy(session: Session, file: Path, since: str) -> int:
    """0 with everything that would have been different; nothing is changed."""
    with refusals(session.as_json):
        begin = _since(since, session.now())
        policy = compile_policy(load_named(file, "--policy"))
        with session.ledger() as ledger:
            found = replay(policy, _leases(ledger, begin))
    if session.as_json:
        print_json(_replay_facts(found))
        return DONE
    if found.differences:
        table("Would have been different", COLUMNS, [_row(one) for one in found.differences])
    count = found.same + len(found.differences)
    lines = [
        f"{count} requests, of which {len(found.differences)} would have been decided differently by {found.version}"
    ]
    lines += [_sum(*one) for one in found.money()]
    if found.unjudged:
        lines.append(f"{len(found.unjudged)} more have no facts on record, so nothing can be said of them")
    tell(False, {}, *lines)
    return DONE


def decision_facts(decision: Decision) -> dict[str, Any]:
    """A decision for programs."""
    return {
        "outcome": decision.outcome.value,
        "reasons": [asdict(one) for one in decision.reasons],
        "steps": [asdict(one) for one in decision.steps],
        "suggestions": [asdict(one) for one in decision.suggestions],
        "policy_version": decision.policy_version,
    }


def quoted(decision: Decision) -> str:
    """The rules that a decision quotes, and those that it takes suggestions from."""
    names = [one.rule for one in decision.reasons] + [one.rule for one in decision.suggestions]
    return ", ".join(dict.fromkeys(names))


def _failed(file: Path, one: Result) -> list[str]:
    return [
        f"{file.name}:{one.line}: {one.name}",
        *(f"  {diff.what}: expected {diff.expected}; got {diff.got}" for diff in one.differences),
    ]


def _result_facts(one: Result) -> dict[str, Any]:
    return {
        "name": one.name,
        "line": one.line,
        "ok": not one.differences,
        "differences": [asdict(diff) for diff in one.differences],
        "decision": decision_facts(one.decision),
    }


def _since(text: str, now: datetime) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
    except ValueError:
        pass
    try:
        length: timedelta = duration(text)
    except ValueError:
        raise SettingsError(
            f"--since '{text[:40]}' is neither a date such as 2026-11-01 nor a length such as 30d"
        ) from None
    return now - length


def _leases(ledger: SqlLedger, begin: datetime | None) -> Iterator[Lease]:
    """Page by page, so that a long record needs little memory."""
    after = ""
    while page := ledger.leases(LeaseQuery(after=after, limit=PAGE)):
        yield from (lease for lease in page if begin is None or lease.requested_at >= begin)
        after = page[-1].id


COLUMNS = (
    Column("lease", whole=True),
    Column("asked", whole=True, spare=1),
    Column("by", spare=3),
    Column("team", spare=2),
    Column("change"),
    Column("rules then", spare=4),
    Column("rules now"),
    Column("price", whole=True),
)


def _row(one: Difference) -> list[str]:
    asked = f"{one.asked_at.astimezone(UTC):%Y-%m-%d}"
    price = str(one.total) if one.total else "unknown"
    return [one.lease_id, asked, one.owner, one.team, one.what, quoted(one.before), quoted(one.after), price]


def _exact(total: Decimal, currency: str) -> str | None:
    return str(Money(total, currency).rounded().amount) if currency else None


def _sum(what: str, currency: str, total: Decimal, unknown: int) -> str:
    amount = str(Money(total, currency)) if currency else ""
    more = f"{unknown} of an unknown price" if unknown else ""
    return f"{what}: {' and '.join(part for part in (amount, more) if part)}"


def _replay_facts(found: Replay) -> dict[str, Any]:
    return {
        "ok": True,
        "policy_version": found.version,
        "same": found.same,
        "differences": [
            {
                "lease_id": one.lease_id,
                "asked_at": one.asked_at.isoformat(),
                "owner": one.owner,
                "team": one.team,
                "what": one.what,
                "total": str(one.total.rounded().amount) if one.total else None,
                "currency": one.total.currency if one.total else None,
                "before": decision_facts(one.before),
                "after": decision_facts(one.after),
            }
            for one in found.differences
        ],
        "money": [
            {"what": what, "currency": currency or None, "total": _exact(total, currency), "unknown": unknown}
            for what, currency, total, unknown in found.money()
        ],
        "without_facts": list(found.unjudged),
    }
