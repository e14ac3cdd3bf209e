"""Questions before a decision, and their answers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain import changes, questions
from lessor.domain.lease import Lease, State
from lessor.domain.pending import Changes, Question
from lessor.domain.people import Person
from tests.builders import APPROVED, ASKED, FINANCE, MANAGER, READY, REQUESTER, a_lease, a_person, a_step
from tests.refusing import refusal

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def asked(*texts: str, by: Person = MANAGER, lease: Lease | None = None) -> Lease:
    lease = lease or a_lease(State.AWAITING_APPROVAL, steps=(a_step(), a_step("budget", "group:finance")))
    for text in texts:
        lease = questions.ask(lease, by, text, APPROVED).lease
    return lease


def test_a_question_is_on_record_and_decides_nothing() -> None:
    change = questions.ask(a_lease(State.AWAITING_APPROVAL), MANAGER, " why eight? ", APPROVED)
    assert change.lease.questions == (Question("U0MANAGER", "why eight?", APPROVED),)
    assert change.lease.state is State.AWAITING_APPROVAL
    assert [(e.type, e.actor, e.data) for e in change.events] == [("question", "U0MANAGER", {"text": "why eight?"})]


def test_an_answer_goes_with_its_question_and_gives_everybody_their_time_again() -> None:
    late = ASKED + 20 * HOUR
    change = questions.reply(asked("why eight?"), REQUESTER, "the batch needs it", late)
    assert change.lease.questions == (
        Question("U0MANAGER", "why eight?", APPROVED, "the batch needs it", "U0REQUESTER", late),
    )
    assert change.lease.lapses_at == late + DAY
    data = {"question": "why eight?", "text": "the batch needs it", "to": "U0MANAGER"}
    assert [(e.type, e.actor, e.data) for e in change.events] == [("answered", "U0REQUESTER", data)]
    assert not questions.waits_for_requester(change.lease)


def test_answers_go_to_the_oldest_open_question_or_to_who_is_named() -> None:
    lease = asked("where?", by=FINANCE, lease=asked("why?", "when?"))
    first = questions.reply(lease, REQUESTER, "because", READY).lease
    assert [q.answer for q in first.questions] == ["because", "", ""]
    assert questions.waits_for_requester(first)
    assert first.steps == lease.steps
    named = questions.reply(lease, REQUESTER, "here", READY, to="U0FINANCE").lease
    assert [q.answer for q in named.questions] == ["", "", "here"]
    both = questions.reply(lease, REQUESTER, "now", READY, to="U0MANAGER").lease
    assert [q.answer for q in both.questions] == ["now", "now", ""]


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (REQUESTER, "own-request"),
        (a_person("U9", email="requester@example.test", leads=("ml",)), "own-request"),
        (a_person("U9"), "not-approver"),
        (a_person("U9", leads=("ml",), active=False), "inactive"),
    ],
)
def test_only_who_may_decide_asks(person: Person, code: str) -> None:
    assert refusal(questions.ask, a_lease(State.AWAITING_APPROVAL), person, "why?", APPROVED)[0] == code


def test_only_the_requester_answers_and_only_once() -> None:
    assert refusal(questions.reply, asked("why?"), MANAGER, "because", READY)[0] == "not-owner"
    answered = questions.reply(asked("why?"), REQUESTER, "because", READY).lease
    assert refusal(questions.reply, answered, REQUESTER, "again", READY)[0] == "no-question"
    assert refusal(questions.reply, asked("why?"), REQUESTER, "x", READY, "U0FINANCE")[0] == "no-question"


@pytest.mark.parametrize(("text", "code"), [("  ", "no-text"), ("x" * 2_001, "too-long")])
def test_what_is_no_text(text: str, code: str) -> None:
    assert refusal(questions.ask, a_lease(State.AWAITING_APPROVAL), MANAGER, text, APPROVED)[0] == code
    assert refusal(questions.reply, asked("why?"), REQUESTER, text, APPROVED)[0] == code


def test_questions_are_limited() -> None:
    lease = asked(*("why?" for _ in range(20)))
    code, message = refusal(questions.ask, lease, MANAGER, "why?", READY)
    assert (code, message) == (
        "too-many",
        "20 questions were asked on gpu-7k3qxa2m; approve it or deny it with a reason",
    )


@pytest.mark.parametrize("state", [s for s in State if s is not State.AWAITING_APPROVAL])
def test_questions_belong_before_the_decision(state: State) -> None:
    assert refusal(questions.ask, a_lease(state), MANAGER, "why?", READY)[0] == "wrong-state"


def test_a_changed_request_leaves_no_question_open() -> None:
    lease = changes.revise(asked("why eight?"), REQUESTER, Changes(count=4), READY).lease
    assert [(q.answer, q.answered_by) for q in lease.questions] == [("the request was changed", "U0REQUESTER")]


def test_an_answer_does_not_start_the_clock_while_proposed_changes_wait() -> None:
    lease = changes.propose(asked("why eight?"), MANAGER, Changes(count=4), "", APPROVED).lease
    after = questions.reply(lease, REQUESTER, "because", READY).lease
    assert after.steps == lease.steps
    assert questions.waits_for_requester(after)
