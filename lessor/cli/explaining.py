"""`lessor policy explain`: why a request was decided as it was, or would be now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lessor.casework import Casework
from lessor.cli.output import Column, print_json, table, tell
from lessor.cli.policies import decision_facts
from lessor.cli.requesting import Wanted
from lessor.cli.session import DONE, Session, refusals
from lessor.config import Config, load
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, minute
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Rule, StepSpec
from lessor.domain.quote import Quote
from lessor.domain.request import Request, spell
from lessor.intake import parse_request_text
from lessor.policyfile import CompiledPolicy, compile_policy, offline
from lessor.policyfile.explaining import Explanation, Said, explain
from lessor.policyfile.recorded import from_text
from lessor.settings import read_settings

if TYPE_CHECKING:
    from lessor.gateway import Gateway

LEASE_ID = re.compile(r"(?:gpu-)?([0-9a-hjkmnp-tv-z]{8})")
"""Crockford's base 32 without the letters that look like digits."""

HOLDS = {True: "holds", False: "no", None: "unknown"}
COLUMNS = (
    Column("rule"),
    Column("line", spare=2),
    Column("does", spare=1),
    Column("matches", whole=True),
    Column("why"),
)


def lease_id_of(words: Sequence[str]) -> str:
    """The lease that is meant by a single word; empty when it is a request in words."""
    found = LEASE_ID.fullmatch(words[0].strip().lower()) if len(words) == 1 else None
    return f"gpu-{found[1]}" if found else ""


def explain_lease(session: Session, lease_id: str) -> int:
    """From the facts on record, by today's rules; says so when the rules have changed since."""
    with refusals(session.as_json):
        policy = compile_policy(_config(session))
        with session.ledger() as ledger:
            lease = ledger.lease(lease_id)
        if lease is None:
            raise Refused("not-found", f"there is no lease {lease_id}; see yours with: lessor list")
        if lease.decision is None:
            raise Refused("undecided", f"{lease_id} has not been judged yet")
        if not lease.decision.facts:
            raise Refused("no-facts", f"{lease_id} was judged before facts were kept, so its rules cannot be explained")
        found = explain(policy, from_text(lease.decision.facts, lease.request))
    head = f"{lease.id}, asked for by {lease.owner} at {minute(lease.requested_at)}"
    _tell(session, head, lease.decision, found, policy)
    return DONE


async def explain_text(session: Session, gateway: Gateway, person: Person, words: Sequence[str]) -> int:
    """As it would be judged now, at today's price and with what is free of ceilings now. Nothing is sent."""
    config, now = _config(session), session.now()
    choices = await gateway.choices(person.id)
    wanted = Wanted(tuple(words), {})
    text = wanted.text(lambda word: not parse_request_text(word, person.tz, now, choices).purpose)
    request = parse_request_text(text, person.tz, now, choices).request(person.id, "explained")
    quote, note = await _quoted(gateway, request, config, now)
    lease = Lease("", request, person.id, now, owner_ids=tuple(person.all_ids))
    policy = compile_policy(config)
    with session.ledger() as ledger:
        case = Casework(ledger, lambda: config.quota_plan).case(lease, quote, person, now)
    found = explain(policy, policy.facts(case))
    _tell(session, f"This request of {person.id}", found.decision, found, policy, note)
    return DONE


async def _quoted(gateway: Gateway, request: Request, config: Config, now: datetime) -> tuple[Quote | None, str]:
    """The price now; where the place cannot say it, the catalogue's, with a note that says so."""
    try:
        return await gateway.quote(request.need, request.place, request.market), ""
    except Refused as refused:
        place = config.place(request.place.name)
        if place is None:
            raise
        currency = config.organisation.currency
        quote = offline.quote(request.need, place, request.place.region, request.market, now, currency)
        if quote is None and refused.code == "no-offer":
            raise
        what = "type and price are the catalogue's" if quote else "the price is unknown"
        return quote, f"The place could not be asked, so {what}: {refused}"


def _config(session: Session) -> Config:
    return load(session.config or read_settings().lessor_config)


def _tell(
    session: Session, head: str, decided: Decision, found: Explanation, policy: CompiledPolicy, note: str = ""
) -> None:
    """`decided` is the decision that was made; `found` what today's rules say of the same facts."""
    if session.as_json:
        print_json(_facts(decided, found, policy) | {"note": note})
        return
    lines = [f"{head}: {decided.outcome.value}", *_words(decided), *([note] if note else [])]
    if decided.policy_version != policy.version:
        lines.append(
            f"The rules have changed since ({decided.policy_version} then, {policy.version} now); now it would be:"
        )
        lines += [f"{found.decision.outcome.value}", *_words(found.decision)]
    tell(False, {}, *lines)
    table(f"Rules of policy {policy.version}", COLUMNS, [_row(one) for one in found.rules])
    names = dict.fromkeys(pair for one in found.rules for pair in one.facts)
    table(
        "Facts", (Column("fact", whole=True), Column("value")), [[name, _shown(value)] for name, value in sorted(names)]
    )


def _words(decision: Decision) -> list[str]:
    lines = [f"- {one.rule}: {one.text}" for one in decision.reasons]
    if decision.outcome is Outcome.REQUIRE:
        lines.append(f"Steps: {_steps(decision.steps)}")
    return lines + [f"Suggestion of {one.rule}: {one.text}" for one in decision.suggestions]


def _steps(steps: Sequence[StepSpec]) -> str:
    """`lead (lead:research) beside finance (group:finance), then admins (admins)`."""
    said = ""
    for index, step in enumerate(steps):
        quorum = f"{step.quorum} of " if step.quorum > 1 else ""
        joint = "" if index == 0 else " beside " if step.stage == steps[index - 1].stage else ", then "
        said += f"{joint}{step.name} ({quorum}{', '.join(step.approvers)})"
    return said or "administrators"


def _row(one: Said) -> list[str]:
    line = str(one.rule.line) if one.rule.line else ""
    return [one.rule.name, line, _does(one.rule), HOLDS[one.holds], _why(one)]


def _does(rule: Rule) -> str:
    parts = [rule.outcome.value] if rule.outcome else []
    parts += [f"max {spell(rule.longest)}"] if rule.longest else []
    return " + ".join([*parts, "suggest"] if rule.suggestion else parts)


def _why(one: Said) -> str:
    if one.holds and not one.spoke:
        return f"{one.rule.when} ({'a stricter rule decided' if one.rule.outcome else 'there is nothing to object'})"
    if one.holds:
        return one.rule.when
    return "; ".join(f"{part.text} is {'unknown' if part.holds is None else 'false'}" for part in one.against)


def _shown(value: str | None) -> str:
    return "unknown" if value is None else value


def _facts(decided: Decision, found: Explanation, policy: CompiledPolicy) -> dict[str, Any]:
    return {
        "ok": True,
        "decision": decision_facts(decided),
        "policy_version": policy.version,
        "by_this_policy": decision_facts(found.decision),
        "rules": [
            {
                "rule": one.rule.name,
                "line": one.rule.line,
                "when": one.rule.when,
                "does": _does(one.rule),
                "matches": one.holds,
                "spoke": one.spoke,
                "facts": dict(one.facts),
                "against": [{"part": part.text, "holds": part.holds} for part in one.against],
            }
            for one in found.rules
        ],
    }
