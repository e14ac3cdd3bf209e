"""Rules that no request can ever meet are found when the file is read, and no other rule is."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.policyfile import possible
from lessor.policyfile.closed import closed_values
from lessor.policyfile.conditions import compile_condition
from lessor.policyfile.facts import documented
from lessor.policyfile.kinds import UNKNOWN, ConditionError
from tests.config.sample import changed, refusal

DOCUMENT = {
    "organisation": {"teams": {"research": {}, "platform": {}}},
    "places": [{"name": "us", "residency": "us"}, {"name": "eu", "residency": "eu"}],
    "security": {"data": {"open": {}, "secret": {}}},
    "schedules": {"office": {}},
}
CLOSED = closed_values(DOCUMENT)


def refused(text: str) -> str:
    try:
        possible.check(compile_condition(text), CLOSED)
    except ConditionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "request.kind == 'namspace'",
            "request.kind is never 'namspace'; did you mean 'namespace'?; there are: machine, namespace, workspace",
        ),
        ("request.market == 'spto'", "request.market is never 'spto'; did you mean 'spot'?; there are: on-demand, "
         "spot, capacity-block"),
        ("request.count > 1 || 'Training' == request.workload", "request.workload is never 'Training'; did you mean "
         "'training'?; there are: training, fine-tuning, batch-inference, realtime-inference, notebook, experiment"),
        ("request.market != 'spots'", "request.market is never 'spots'; did you mean 'spot'?; there are: on-demand, "
         "spot, capacity-block"),
        ("time.weekday in ['saturday', 'Sunday']", "time.weekday is never 'Sunday'; did you mean 'sunday'?; there "
         "are: monday, tuesday, wednesday, thursday, friday, saturday, sunday"),
        ("time.hour == 24", "time.hour is never 24; it goes from 0 to 23"),
        ("team.key == 'reserch'", "team.key is never 'reserch'; did you mean 'research'?; there are: research, "
         "platform"),
        ("'finance' in person.teams", "person.teams is never 'finance'; there are: research, platform"),
        ("place.name == 'mars'", "place.name is never 'mars'; there are: us, eu"),
        ("place.residency in ['eu', 'ch']", "place.residency is never 'ch'; there are: us, eu"),
        ("request.data == 'top'", "request.data is never 'top'; there are: open, secret"),
        ("request.schedule == 'nights'", "request.schedule is never 'nights'; there are: office"),
        ("request.model == 'A100'", "request.model is never 'A100'; write 'A100-40GB', as the catalogue has it"),
        ("false", "can never hold: false is never true"),
        ("1 > 2 || !true", "can never hold: 1 > 2 is never true"),
        ("1 / 0 == 1", "can never hold: 1 / 0 == 1 is never true"),
        ("request.count > 8 && request.count < 4", "can never hold: request.count can never be so: request.count > 8 "
         "and request.count < 4"),
        ("request.count > 3 && request.count < 4", "can never hold: request.count can never be so: request.count > 3 "
         "and request.count < 4"),
        ("request.count >= 4 && 4 > request.count", "can never hold: request.count can never be so: "
         "request.count >= 4 and 4 > request.count"),
        ("request.count == 2.5", "can never hold: request.count can never be so: request.count == 2.5"),
        ("request.count < 1", "can never hold: request.count can never be so: request.count < 1"),
        ("quote.total < 0", "can never hold: quote.total can never be so: quote.total < 0"),
        ("request.count == 2 && request.count != 2", "can never hold: request.count can never be so: "
         "request.count == 2 and request.count != 2"),
        ("request.hours >= 4 && request.hours <= 4 && request.hours != 4", "can never hold: request.hours can never be "
         "so: request.hours >= 4 and request.hours <= 4 and request.hours != 4"),
        ("request.count in [1, 2] && request.count > 2", "can never hold: request.count can never be so: "
         "request.count in [1, 2] and request.count > 2"),
        ("request.count >= 2 && request.count <= 3 && !(request.count in [2, 3])", "can never hold: request.count can "
         "never be so: request.count >= 2 and request.count <= 3 and !request.count in [2, 3]"),
        ("request.model == 'H100' && request.model == 'H200'", "can never hold: request.model can never be so: "
         "request.model == 'H100' and request.model == 'H200'"),
        ("request.purpose == 'a' && request.purpose in ['b']", "can never hold: request.purpose can never be so: "
         "request.purpose == 'a' and request.purpose in ['b']"),
        ("request.market == 'spot' && request.market == 'on-demand'", "can never hold: request.market can never be "
         "so: request.market == 'spot' and request.market == 'on-demand'"),
        ("request.market.startsWith('spt')", "can never hold: request.market can never be so: "
         "request.market.startsWith('spt')"),
        ("!(request.market in ['spot', 'on-demand', 'capacity-block'])", "can never hold: request.market can never be "
         "so: !request.market in ['spot', 'on-demand', 'capacity-block']"),
        ("person.lead && !person.lead", "can never hold: person.lead can never be so: person.lead and !person.lead"),
        ("person.lead == true && person.lead == false", "can never hold: person.lead can never be so: "
         "person.lead == true and person.lead == false"),
        ("time.weekend && time.weekday == 'monday'", "can never hold: time.weekend and time.weekday == 'monday' "
         "cannot be both"),
        ("!time.weekend && time.weekday in ['saturday', 'sunday']", "can never hold: !time.weekend and "
         "time.weekday in ['saturday', 'sunday'] cannot be both"),
        ("time.hour < 6 && time.hour > 20", "can never hold: time.hour can never be so: time.hour < 6 and "
         "time.hour > 20"),
        ("request.days > 2 && request.hours <= 48", "can never hold: request.days > 2 and request.hours <= 48 cannot "
         "be both"),
        ("quote.total > 5 && !quote.known", "can never hold: !quote.known and quote.total > 5: quote.total is "
         "unknown where quote.known is false"),
        ("!team.limited && team.after > team.quota && team.quota > 3", "can never hold: !team.limited and "
         "team.quota > 3: team.quota is unknown where team.limited is false"),
        ("!has(quote.total) && quote.total > 5", "can never hold: !has(quote.total) and quote.total > 5: it cannot be "
         "unknown and known"),
        ("request.purpose.contains('a') && !request.purpose.contains('a')", "can never hold: "
         "request.purpose.contains('a') cannot be true and false"),
        ("request.ends < timestamp('2026-01-01T00:00:00Z') && request.ends > timestamp('2027-01-01T00:00:00Z')",
         "can never hold: request.ends can never be so: request.ends < timestamp('2026-01-01T00:00:00Z') and "
         "request.ends > timestamp('2027-01-01T00:00:00Z')"),
        ("(request.count > 8 || request.count > 9) && request.count < 2", "can never hold: request.count can never be "
         "so: request.count > 8 and request.count < 2"),
        ("person.teams == ['research'] && person.teams.exists(t, t == 'platform')", "can never hold: person.teams can "
         "never be so: person.teams == ['research'] and person.teams.exists(t, t == 'platform')"),
        ("((request.count + 1) * 2 > 4) == true // why )\n && !(((request.count + 1) * 2 > 4) == true)", "can never "
         "hold: ((request.count + 1) * 2 > 4) == true cannot be true and false"),
        ("person.lead ? request.count < 1 : false", "can never hold: request.count can never be so: "
         "request.count < 1"),
    ],
)  # fmt: skip
def test_refused(text: str, message: str) -> None:
    assert refused(text) == message


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "request.count > 8 || request.count < 4",
        "request.count > 3 && request.count < 5",
        "request.hours > 3 && request.hours < 4",
        "request.count >= 4 && request.count <= 4",
        "request.count > 1 && request.count < 3 && request.count != 3",
        "request.count * 2 == 5",
        "request.model == 'MI300X'",
        "request.model in ['H100', 'H200'] && request.model.startsWith('H2')",
        "!(request.market == 'spot')",
        "request.market.endsWith('t')",
        "request.data == ''",
        "team.free < 0",
        "time.weekend || time.weekday == 'monday'",
        "time.weekend && time.weekday == 'sunday'",
        "!time.weekend && time.weekday == 'friday'",
        "request.days > 2 && request.hours > 48",
        "request.days >= 2 && request.hours <= 48",
        "!quote.known",
        "!quote.known || quote.total > 5",
        "!team.limited || team.after <= team.quota",
        "!has(place.zone) && request.count > 2",
        "!has(quote.total) && [1].exists(x, x == 1 || quote.total > 2)",
        "has(place.zone) && place.zone == 'a'",
        "has(request.tags.a) && request.tags.a == 'x'",
        "!has(request.tags.a) && request.tags.b == 'x'",
        "request.purpose.contains('a') && !request.purpose.contains('b')",
        "['spot', 'x'].exists(m, request.market == m)",
        "person.lead ? request.count < 1 : request.count > 1",
        "budget.limited && budget.left < 0",
        "person.teams == ['research'] && person.teams.exists(t, t == 'research')",
        "request.ends > timestamp('2026-01-01T00:00:00Z') && request.ends < timestamp('2027-01-01T00:00:00Z')",
        " && ".join(f"(request.count > {n} || request.hours > {n})" for n in range(12)),
    ],
)
def test_possible(text: str) -> None:
    assert refused(text) == ""


def test_the_message_has_the_line_of_the_rule() -> None:
    text = changed("when: quote.total > 2000", "when: quote.total > 2000 && quote.total < 3")
    assert refusal(text) == [
        "lessor.yaml:28: policy.rules[1].when: can never hold: quote.total can never be so: quote.total > 2000 and "
        "quote.total < 3 (column 1)"
    ]


def test_what_the_file_names_is_checked_even_where_the_rest_of_it_is_wrong() -> None:
    text = changed("when: quote.total > 2000", "when: team.key == 'reserch'").replace("grace: 7d", "grace: 7")
    assert [line.partition(";")[0] for line in refusal(text)] == [
        "lessor.yaml:16: lease.grace: is the number 7 without a unit",
        "lessor.yaml:28: policy.rules[1].when: team.key is never 'reserch'",
    ]


@pytest.mark.parametrize("data", [None, [], {"organisation": []}, {"places": [1]}, {"places": {}, "security": 3}])
def test_a_document_without_form_closes_only_what_is_fixed(data: Any) -> None:
    found = closed_values(data)
    assert found["request.market"] == ("on-demand", "spot", "capacity-block")
    assert not {"team.key", "place.name", "request.schedule"} & found.keys()


WORLD: dict[str, st.SearchStrategy[Any]] = {
    "request.count": st.integers(1, 9),
    "request.hours": st.integers(1, 300).map(Decimal),
    "request.market": st.sampled_from(["on-demand", "spot", "capacity-block"]),
    "request.purpose": st.sampled_from(["a", "b", "ab"]),
    "person.lead": st.booleans(),
    "quote.total": st.sampled_from([None, Decimal(0), Decimal(3), Decimal(7)]),
    "time.weekday": st.sampled_from(["monday", "saturday", "sunday"]),
}
ATOMS = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(["request.count", "request.hours", "request.days", "quote.total", "4", "request.count + 1"]),
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        st.sampled_from(["1", "3", "7", "3.5", "request.count"]),
    ),
    st.builds("request.market {} '{}'".format, st.sampled_from(["==", "!="]), st.sampled_from(["spot", "on-demand"])),
    st.sampled_from(
        [
            "request.purpose == 'a'",
            "request.purpose.contains('a')",
            "request.purpose in ['b', 'ab']",
            "request.count in [2, 5]",
            "person.lead",
            "has(quote.total)",
            "quote.known",
            "time.weekend",
            "time.weekday == 'sunday'",
            "[1, 2].exists(n, n == request.count)",
            "true",
            "false",
        ]
    ),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!({})".format, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(CONDITIONS, st.fixed_dictionaries(WORLD))
def test_what_is_refused_holds_for_no_request(text: str, world: dict[str, Any]) -> None:
    """Only soundness: whatever some request meets is never refused."""
    known = dict.fromkeys(documented()) | world
    known["request.days"] = world["request.hours"] / 24
    known["quote.known"] = known["quote.total"] is not None
    known["time.weekend"] = known["time.weekday"] in ("saturday", "sunday")
    known["time.now"] = datetime(2026, 11, 27, tzinfo=UTC)
    condition = compile_condition(text)
    if condition.holds({name: UNKNOWN if value is None else value for name, value in known.items()}):
        assert refused(text) == ""
