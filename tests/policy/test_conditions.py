"""The condition language: right answers, exact decimals, and unknown that stays unknown."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import celpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.policyfile.conditions import compile_condition
from lessor.policyfile.facts import Facts, QuoteFacts, RequestFacts, TeamFacts
from lessor.policyfile.kinds import UNKNOWN, ConditionError

FACTS = Facts(
    request=RequestFacts(
        model="A100-80GB",
        count=2,
        hours=Decimal(8),
        purpose="Train the RANKING model",
        tags={"project": "x"},
        ends=datetime(2026, 12, 24, 18, tzinfo=UTC),
    ),
    quote=QuoteFacts(known=True, hourly=Decimal("0.10")),
    team=TeamFacts(key="research", limited=False),
)


def values(facts: Facts = FACTS) -> dict[str, Any]:
    return {name: UNKNOWN if value is None else value for name, value in facts.flat().items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("!true", False),
        ("!!true", True),
        ("request.count == 2", True),
        ("request.count == 2.0", True),
        ("request.count != 2", False),
        ("request.count < 2 || request.count > 1", True),
        ("request.count >= 2 && request.count <= 2", True),
        ("request.count + 1 == 3 && request.count - 1 == 1 && request.count * 3 == 6", True),
        ("request.count / 2 == 1 && 7 / 2 == 3 && -7 / 2 == -3 && 7 % 3 == 1 && -7 % 3 == -1", True),
        ("7.0 / 2 == 3.5 && 7 / 2.0 == 3.5", True),
        ("-request.count == -2", True),
        ("quote.hourly + 0.2 == 0.3", True),
        ("quote.hourly * 3 == 0.3", True),
        ("request.hours == 8", True),
        ("request.model == 'A100-80GB'", True),
        ('request.model == "A100-80GB"', True),
        ("request.model in ['H100', 'A100-80GB']", True),
        ("request.model in []", False),
        ("'project' in request.tags", True),
        ("request.tags.project == 'x' && request.tags['project'] == 'x'", True),
        ("request.purpose.contains('RANKING')", True),
        ("request.purpose.lowerAscii().contains('ranking')", True),
        ("request.model.startsWith('A100') && request.model.endsWith('80GB')", True),
        ("size(request.model) == 9 && request.model.size() == 9 && size([1, 2]) == 2", True),
        ("['A', 'B'].exists(m, request.model.startsWith(m))", True),
        ("['A', 'B'].all(m, request.model.startsWith(m))", False),
        ("['A', 'B'].exists_one(m, request.model.startsWith(m))", True),
        ("request.tags.exists(k, k == 'project')", True),
        ("request.count > 1 ? quote.hourly < 1 : false", True),
        ("request.ends < timestamp('2026-12-24T19:00:00+01:00')", False),
        ("request.ends == timestamp('2026-12-24T19:00:00+01:00')", True),
        ("timestamp('2026-12-24T18:00:00Z') - request.ends == duration('0s')", True),
        ("request.ends + duration('1h30m') > request.ends", True),
        ("int(request.hours) == 8 && double(request.count) == 2.0", True),
        (r"'a\"b\n\x41\u00e9' == 'a\"b\nAé'", True),
        (r"r'a\n' == 'a\\n'", True),
        ("has(quote.hourly) && !has(quote.total)", True),
        ("has(request.tags.project) && !has(request.tags.other)", True),
        ("quote.total < 5", None),
        ("quote.total != 5", None),
        ("!(quote.total < 5)", None),
        ("quote.total < 5 || request.count == 2", True),
        ("request.count == 2 || quote.total < 5", True),
        ("quote.total < 5 && request.count == 3", False),
        ("quote.total < 5 && request.count == 2", None),
        ("quote.total < 5 ? true : true", None),
        ("quote.total in [1.0, 2.0]", None),
        ("1.0 in [quote.total]", None),
        ("[quote.total].exists(t, t < 5)", None),
        ("request.tags.other == 'x'", None),
        ("request.count / 0 == 1", None),
        ("request.count % 0 == 1", None),
        ("[1, 2][5] == 1", None),
        ("[1, 2][-1] == 2", None),
        ("team.limited && team.after > team.quota", False),
        ("!team.limited || team.after <= team.quota", True),
        ("// a comment\nrequest.count == 2 // and another", True),
    ],
)
def test_holds(text: str, expected: bool | None) -> None:
    assert compile_condition(text).holds(values()) is expected


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "is not valid at its end: an operator, a value or a bracket is missing or too many", (1, 1)),
        ("request.count = 2", "is not valid at '= 2': equality is written ==", (1, 15)),
        ("true and true", "is not valid at 'and true': write && for and, || for or, ! for not", (1, 6)),
        (
            "request.count >",
            "is not valid at '>': an operator, a value or a bracket is missing or too many",
            (1, 15),
        ),
        ("foo > 1", "unknown name 'foo'; facts begin with budget, lease, person, place, quote, request, similar, "
         "team, time", (1, 1)),
        (
            "true &&\n  quote.totl > 1",
            "unknown fact 'quote.totl'; did you mean 'quote.total'?; quote has: known, hourly, total, market_hourly, "
            "currency",
            (2, 3),
        ),
        ("quote > 1", "names 'quote' alone; give one of its facts, such as quote.known", (1, 1)),
        ("quote['total'] > 1", "looks a fact up by brackets; write quote.known", (1, 1)),
        ("request.count", "gives a whole number; a condition has to be true or false", (1, 1)),
        ("request.model > 3", "compares text with a whole number by >, which is never true", (1, 1)),
        ("request.tags < request.tags", "orders a map of text by <; only == and != are possible", (1, 1)),
        ("request.model in 'abc'", "looks with 'in' into text; a list such as ['a', 'b'] is needed", (1, 1)),
        ("request.count in ['a']", "looks for a whole number in a list of text, which never holds one", (1, 1)),
        ("request.count && true", "uses && with a whole number; it needs something that is true or false", (1, 1)),
        ("!request.count", "uses ! with a whole number; it needs something that is true or false", (1, 1)),
        ("-request.model == 'a'", "puts a minus before text", (1, 1)),
        ("true ? 1 : 'a'", "chooses between a whole number and text", (1, 1)),
        ("request.model + 1 == 2", "cannot calculate text + a whole number", (1, 1)),
        ("request.hours % 2 == 0", "takes % of numbers that are not whole", (1, 1)),
        ("[1, 'a'] == [1]", "mixes a whole number and text in one list", (1, 1)),
        (
            "request.model.matches('^A')",
            "unknown function matches(); there are startsWith, endsWith, contains, lowerAscii, size, exists, all, "
            "exists_one",
            (1, 1),
        ),
        ("now()", "unknown function now(); there are has, size, int, double, timestamp, duration", (1, 1)),
        ("has(quote)", "has() takes one name with a dot, such as has(quote.total)", (1, 1)),
        ("has()", "has() takes one name with a dot, such as has(quote.total)", (1, 1)),
        ("size(1) == 1", "asks for the size of a whole number", (1, 1)),
        ("size() == 1", "gives 0 values to size(); it takes one", (1, 1)),
        ("int('1') == 1", "makes a number of text", (1, 1)),
        ("request.model.startsWith(1)", "uses startsWith() with a whole number; it works on text", (1, 1)),
        ("request.count.exists(x, true)", "exists() runs over a list, not a whole number", (1, 1)),
        ("[1].exists(true)", "exists() takes a name and a test, such as exists(tag, tag == 'x')", (1, 1)),
        ("[1].all(x, x)", "all() needs a test that is true or false, not a whole number", (1, 1)),
        ("request.count.x == 1", "looks into a whole number, which has nothing inside", (1, 1)),
        ("request.tags[1] == 'x'", "looks into a map of text by a whole number; text is needed", (1, 1)),
        ("request.ends > timestamp('tomorrow')", "'tomorrow' is no instant with a zone, such as "
         "2026-12-24T18:00:00Z", (1, 16)),
        ("request.ends > timestamp('2026-12-24T18:00:00')", "'2026-12-24T18:00:00' is no instant with a zone, such "
         "as 2026-12-24T18:00:00Z", (1, 16)),
        ("duration('1 day') > duration('1h')", "'1 day' is no length of time; h, m and s are possible, such as "
         "1h30m", (1, 1)),
        ("quote.total == null", "uses null (ask has(...) instead), which conditions do not offer", (1, 16)),
        ("1u == 1u", "uses unsigned numbers (leave the u out), which conditions do not offer", (1, 1)),
        ("{'a': 1} == {'a': 1}", "uses map lit, which conditions do not offer", (1, 1)),
    ],
)  # fmt: skip
def test_refused_when_read(text: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(ConditionError) as caught:
        compile_condition(text)
    assert (str(caught.value), (caught.value.line, caught.value.column)) == (message, place)


def test_deep_nesting_is_refused_and_crashes_nothing() -> None:
    with pytest.raises(ConditionError, match="nested too deeply"):
        compile_condition("!(" * 1_900 + "true" + ")" * 1_900)


NUMBERS = st.integers(-5, 5)
ATOMS = st.one_of(
    st.builds(lambda n, op, m: f"{n} {op} {m}", NUMBERS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), NUMBERS),
    st.sampled_from(["true", "false", "unknown.x < 1", "2 in [1, 2]", "'ab'.contains('b')", "[1, 2].exists(i, i > 1)"]),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!({})".format, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(CONDITIONS)
def test_answers_are_those_of_the_reference_interpreter(text: str) -> None:
    ours = text.replace("unknown.x", "quote.total")
    evaluator = celpy.Evaluator(ast=celpy.CELParser().parse(text), activation=celpy.Activation())
    try:
        reference = bool(evaluator.evaluate({"unknown": celpy.json_to_cel({})}))
    except celpy.CELEvalError:
        reference = None
    assert compile_condition(ours).holds(values()) is reference


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="requst.count()[]{}'\"=<>&|!?: 0123\\n", max_size=40))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    try:
        condition = compile_condition(text)
    except ConditionError as error:
        place = (error.line, error.column)
        condition = None
    assert place >= (1, 1) if condition is None else condition.holds(values()) in (True, False, None)
