"""What people are answered who give a lease back: what becomes of it, and no end that is over already."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.facts import facts
from lessor.cli.acting import _words
from lessor.contracts import Act, Answer, Verb
from lessor.domain import life
from lessor.domain.lease import State
from lessor.rendering import slack_renderer
from tests.builders import ENDS, REQUESTER, a_lease
from workflows import acts


@pytest.mark.parametrize(
    ("state", "words"),
    [("ending", "released"), ("active", "released; it ends Friday 27 November 2026 18:15 UTC")],
)
def test_an_end_that_is_over_is_not_told_once_more(state: str, words: str) -> None:
    answer = Answer(True, "", "released", "gpu-7k3qxa2m", state, ends_at=ENDS + timedelta(hours=1))
    assert _words(answer, REQUESTER) == words


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.ACTIVE, "it is stopped now and deleted 7 d later"),
        (State.STOPPED, "it is deleted now"),
    ],
)
def test_who_gives_a_lease_back_hears_what_becomes_of_it(state: State, words: str) -> None:
    act = Act("release", Verb.RELEASE, REQUESTER.id)
    lease = life.release(a_lease(state), REQUESTER.id, ENDS).lease
    assert acts._words(lease, act, ENDS) == f"gpu-7k3qxa2m: released; {words}"
    answer = Answer(True, "", "", lease.id, lease.state.value)
    said = slack_renderer().parts("answer.j2", **facts(lease, ENDS), answer=answer, verb="release", to="", zone="UTC")
    assert said["title"].startswith(f"`gpu-7k3qxa2m` is released: {words}")


@pytest.mark.parametrize(("state", "kept"), [(State.ACTIVE, True), (State.STOPPED, False)])
def test_who_is_asked_whether_to_give_back_hears_whether_it_can_be_restored(state: State, kept: bool) -> None:
    values = {**facts(a_lease(state), ENDS), "verb": "release", "zone": "UTC"}
    body = slack_renderer().parts("confirm.j2", **values)["body"]
    assert ("until then it can be restored" in body) is kept
    assert ("it is deleted at once, and nothing of it can be restored" in body) is not kept
