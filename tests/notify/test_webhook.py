"""Events as a receiver gets them: whole, signed, once; and what happens when it does not take them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from lessor.contracts import Notice
from lessor.domain.lease import State
from lessor.domain.pending import CoOwner
from lessor.ledger import SqlLedger
from lessor.notify import Hook, Webhook, occasion
from lessor.notify.events import cloud_event, encoded
from lessor.notify.signature import is_genuine, signed
from lessor.notify.webhook import Tries
from lessor.ports import MessageRef
from tests.builders import ENDS, LEASE_ID, READY, a_lease, a_quote
from tests.notify.receiving import Receiver

SECRET = "whsec_" + base64.b64encode(b"a long random word").decode()
NOW = datetime(2026, 11, 27, 16, 45, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)
WARNING = f"warning-{int(ENDS.timestamp())}-1800"


class BrokenBook:
    """A ledger that is down in a way nobody thought of."""

    def message(self, key: str) -> MessageRef | None:
        raise RuntimeError(key)

    def save_message(self, ref: MessageRef) -> None:
        raise RuntimeError(ref.key)

    def messages(self, lease_id: str) -> tuple[MessageRef, ...]:
        raise RuntimeError(lease_id)


@dataclass
class Naps:
    """A sleep that takes no time."""

    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


Announce = Callable[..., Awaitable[str]]


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
def announce(receiver: Receiver, session: aiohttp.ClientSession, book: SqlLedger, naps: Naps) -> Announce:
    async def post(notice: Notice = Notice.WARNING, *, notices: tuple[Notice, ...] = (), seconds: float = 5.0) -> str:
        hook = Hook(receiver.url, SECRET, "/lessor/Example", frozenset(notices))
        webhook = Webhook(hook, session, book, Tries(timeout=seconds), lambda: NOW, naps)
        lease = a_lease()
        return await webhook.announce(lease, notice, occasion(lease, notice, HALF_AN_HOUR, 7), HALF_AN_HOUR, NOW)

    return post


DATA = {
    "lease": LEASE_ID,
    "state": "active",
    "revision": a_lease().revision,
    "owner": "U0REQUESTER",
    "co_owners": [],
    "team": "ml",
    "cost_center": None,
    "purpose": "train the ranking model",
    "workload": "training",
    "market": "on-demand",
    "place": "research",
    "gpus": 8,
    "gpu_model": "A100-80GB",
    "instance_type": "p4de.24xlarge",
    "hourly": "98.32",
    "cost": "742.32",
    "compute_cost": "742.32",
    "storage_cost": "0.00",
    "currency": "USD",
    "decided_by": "U0MANAGER",
    "ready_at": "2026-11-27T09:15:00Z",
    "ends_at": "2026-11-27T17:15:00Z",
    "warned_before_seconds": 1800,
    "idle_since": None,
    "idle_stop_at": None,
    "stopped_for": None,
    "ending_reason": None,
    "problem": None,
    "left": [],
}
"""What is told of the lease."""


async def test_the_event_is_exactly_this(announce: Announce, receiver: Receiver) -> None:
    assert await announce() == ""
    [(headers, body)] = receiver.got
    assert headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert json.loads(body) == {
        "specversion": "1.0",
        "id": f"{LEASE_ID}/{WARNING}",
        "source": "/lessor/Example",
        "type": "dev.lessor.lease.warning",
        "subject": LEASE_ID,
        "time": "2026-11-27T16:45:00Z",
        "datacontenttype": "application/json",
        "data": DATA,
    }


async def test_the_signature_is_that_of_standard_webhooks(announce: Announce, receiver: Receiver) -> None:
    await announce()
    [(headers, body)] = receiver.got
    assert headers["webhook-id"] == f"{LEASE_ID}/{WARNING}"
    assert headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mac = base64.b64encode(hmac.new(b"a long random word", content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{mac}"
    assert is_genuine(SECRET, headers, body, NOW + timedelta(minutes=5))
    assert not is_genuine(SECRET, headers, body, NOW + timedelta(minutes=5, seconds=1))
    assert not is_genuine(SECRET, headers, body + b" ", NOW)
    assert not is_genuine("whsec_" + base64.b64encode(b"another").decode(), headers, body, NOW)
    assert not is_genuine(SECRET, {**headers, "webhook-id": "other"}, body, NOW)
    assert not is_genuine(SECRET, {}, body, NOW)


def test_a_secret_is_taken_as_it_is_unless_it_says_that_it_is_base64() -> None:
    known = "v1," + base64.b64encode(hmac.new(b"word", b"a.1795797900.{}", hashlib.sha256).digest()).decode()
    assert signed("word", "a", b"{}", datetime.fromtimestamp(1795797900, UTC))["webhook-signature"] == known
    with pytest.raises(ValueError, match="is base64 behind it"):
        signed("whsec_%%", "a", b"{}", NOW)


async def test_an_event_that_was_taken_is_not_posted_again(announce: Announce, receiver: Receiver) -> None:
    assert [await announce() for _ in range(3)] == ["", "", ""]
    assert len(receiver.got) == 1


async def test_only_what_is_asked_for_is_posted(announce: Announce, receiver: Receiver) -> None:
    for notice in (Notice.READY, Notice.WARNING, Notice.CLOSED):
        assert await announce(notice, notices=(Notice.WARNING, Notice.CLOSED)) == ""
    assert [json.loads(body)["type"] for _, body in receiver.got] == [
        "dev.lessor.lease.warning",
        "dev.lessor.lease.closed",
    ]


@pytest.mark.parametrize("status", [500, 503, 429, 408])
async def test_what_may_pass_is_tried_three_times_with_the_same_id(
    announce: Announce, receiver: Receiver, naps: Naps, status: int
) -> None:
    receiver.statuses = [status, status]
    assert await announce() == ""
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert (len(receiver.got), naps.taken) == (3, [0.5, 2.0])


async def test_after_three_tries_it_is_a_problem_and_the_next_call_tries_again(
    announce: Announce, receiver: Receiver
) -> None:
    receiver.statuses = [500, 502, 503]
    assert await announce() == "webhook 127.0.0.1 answered 503"
    assert len(receiver.got) == 3
    assert await announce() == ""
    assert len(receiver.got) == 4


@pytest.mark.parametrize("status", [400, 401, 404, 410])
async def test_what_cannot_heal_is_tried_once(announce: Announce, receiver: Receiver, status: int) -> None:
    receiver.statuses = [status]
    assert await announce() == f"webhook 127.0.0.1 answered {status}"
    assert len(receiver.got) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_refused(announce: Announce, receiver: Receiver, status: int) -> None:
    receiver.statuses = [status]
    told = await announce()
    assert told == f"webhook 127.0.0.1 answered {status}; redirects are not followed, correct the url"
    assert (len(receiver.got), receiver.elsewhere) == (1, 0)


async def test_silence_is_a_problem_and_the_address_is_never_told(announce: Announce, receiver: Receiver) -> None:
    receiver.silent = asyncio.Event()
    told = await announce(seconds=0.03)
    receiver.silent.set()
    assert told == "webhook 127.0.0.1 did not answer within 0.03 s"


async def test_nobody_there_is_a_problem_and_the_address_is_never_told(
    session: aiohttp.ClientSession, book: SqlLedger, naps: Naps
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hook = Hook(f"http://127.0.0.1:{port}/lessor?key=confidential", SECRET)
    lease = a_lease()
    told = await Webhook(hook, session, book, sleep=naps).announce(lease, Notice.READY, "ready-7", timedelta(), NOW)
    assert told == "webhook 127.0.0.1 cannot be reached (ClientConnectorError)"
    assert "confidential" not in repr(hook)
    assert SECRET not in repr(hook)


async def test_all_tries_together_have_a_limit(
    receiver: Receiver, session: aiohttp.ClientSession, book: SqlLedger, naps: Naps
) -> None:
    receiver.statuses = [500] * 9
    tries = Tries(pauses=(0.0, 99.0), limit=12.0)
    webhook = Webhook(Hook(receiver.url, SECRET), session, book, tries, sleep=naps)
    assert await webhook.announce(a_lease(), Notice.READY, "ready-7", timedelta(), NOW) == (
        "webhook 127.0.0.1 answered 500"
    )
    assert (len(receiver.got), naps.taken) == (2, [0.0])


async def test_a_book_that_fails_is_a_problem_and_no_error(receiver: Receiver, session: aiohttp.ClientSession) -> None:
    webhook = Webhook(Hook(receiver.url, SECRET), session, BrokenBook())
    assert await webhook.announce(a_lease(), Notice.READY, "ready-7", timedelta(), NOW) == (
        "webhook 127.0.0.1: RuntimeError"
    )


@pytest.mark.parametrize("state", list(State))
def test_what_is_unknown_is_null_and_the_way_in_is_not_told(state: State) -> None:
    lease = replace(a_lease(state, quote=a_quote(None)), co_owners=(CoOwner("U0FINANCE"),))
    event = cloud_event(lease, Notice.READY, "ready-1", timedelta(), "/lessor", NOW)
    assert event["data"]["hourly"] is None
    assert event["data"]["co_owners"] == ["U0FINANCE"]
    assert b"start-session" not in encoded(event)


def test_an_occasion_is_the_same_for_each_try_and_another_for_the_next() -> None:
    lease = a_lease()
    assert occasion(lease, Notice.WARNING, HALF_AN_HOUR, 7) == WARNING
    assert occasion(lease, Notice.WARNING, HALF_AN_HOUR, 8) == WARNING
    moved = replace(lease, ends_at=READY + timedelta(days=1))
    assert occasion(moved, Notice.WARNING, HALF_AN_HOUR, 7) != WARNING
    assert occasion(lease, Notice.EXTENDED, timedelta(), 7) == "extended-7"
    assert occasion(lease, Notice.EXTENDED, timedelta(), 9) == "extended-9"
