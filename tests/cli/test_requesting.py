"""`lessor request`: what is understood, what is sent, and what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from typer.testing import Result

from lessor.domain.money import Money
from lessor.domain.request import Need, Place, Request, Workload
from lessor.gateway import Submitted
from tests.cli.conftest import FakeGateway

Lessor = Callable[..., Result]
COMPLETE = ("2", "x", "a100", "80gb", "for", "8h", "training", "fine-tune the ranking model")


def test_a_typed_request_is_sent_as_the_acting_person(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("request", *COMPLETE, "--key", "nightly")
    assert (result.exit_code, result.stderr) == (0, "")
    assert gateway.requests == [
        (
            Request(
                requester="U0REQUESTER",
                team="research",
                purpose="fine-tune the ranking model",
                workload=Workload.TRAINING,
                need=Need("A100-80GB", 2),
                place=Place("aws", "research-us", "us-east-1"),
                duration=timedelta(hours=8),
                interaction="cli:U0REQUESTER:nightly",
            ),
            False,
        )
    ]
    assert "8 h from when it is usable; if that were now, until Wednesday 3 June 2026 23:11 CEST" in result.stdout
    assert "98.32 USD an hour, 786.56 USD in total (catalogue 2026-11-01)" in result.stdout
    assert result.stdout.endswith("gpu-7k3qxa2m is on its way; follow it with: lessor show gpu-7k3qxa2m\n")


def test_options_say_the_same_as_text(lessor: Lessor, gateway: FakeGateway) -> None:
    lessor("request", *COMPLETE, "--key", "a")
    lessor("request", "2 x a100 80gb", "--until", "8h", "--workload", "training", "--purpose",
           "fine-tune the ranking model", "--team", "research", "--place", "research-us", "--key", "a")  # fmt: skip
    lessor(
        "request", "a100", "80gb", "gpus:2", "for 8h", "training", "purpose:fine-tune the ranking model", "--key", "a"
    )
    assert gateway.requests[0] == gateway.requests[1] == gateway.requests[2]


def test_without_a_key_every_request_is_another(lessor: Lessor, gateway: FakeGateway) -> None:
    lessor("request", *COMPLETE)
    lessor("request", *COMPLETE, "--anyway")
    (first, _), (second, anyway) = gateway.requests
    assert first.interaction != second.interaction
    assert anyway


def test_what_is_missing_is_one_line_each_and_nothing_is_sent(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("request", "8h")
    assert (result.exit_code, gateway.requests) == (1, [])
    assert result.stderr.splitlines() == [
        "lessor: need: say which GPUs, such as 2 x a100 80gb or g5.xlarge",
        "lessor: workload: say what for: training, fine-tuning, batch-inference, realtime-inference, notebook, "
        "experiment",
        'lessor: purpose: say why, such as "fine-tune the ranking model"',
    ]


def test_a_request_is_confirmed_where_somebody_can_be_asked(lessor: Lessor, gateway: FakeGateway) -> None:
    refused = lessor("request", *COMPLETE, answers="n\n")
    assert (refused.exit_code, refused.stderr, gateway.requests) == (1, "lessor: nothing was done\n", [])
    assert lessor("request", *COMPLETE, answers="y\n").exit_code == 0
    assert lessor("request", *COMPLETE, "--yes", answers="").exit_code == 0
    assert len(gateway.requests) == 2


@pytest.mark.parametrize(
    ("submitted", "code", "text"),
    [
        (Submitted("gpu-1", existing=True), 0, "gpu-1 was made with this key before; nothing new was sent"),
        (
            Submitted("gpu-1", recorded_only=True),
            0,
            "gpu-1 is recorded; it starts by itself as soon as Temporal can be reached",
        ),
        (
            Submitted("", similar=("gpu-1", "gpu-2")),
            1,
            "lessor: gpu-1, gpu-2 asks for the same already; nothing was sent, add --anyway to make another",
        ),
    ],
)
def test_what_came_of_a_request(
    lessor: Lessor, gateway: FakeGateway, submitted: Submitted, code: int, text: str
) -> None:
    gateway.submitted = submitted
    result = lessor("request", *COMPLETE)
    assert result.exit_code == code
    assert text in (result.stderr if code else result.stdout)


def test_the_answer_as_json(lessor: Lessor) -> None:
    result = lessor("request", *COMPLETE, "--json")
    expected = {"ok": True, "lease_id": "gpu-7k3qxa2m", "existing": False, "recorded_only": False}
    assert json.loads(result.stdout) == expected


def test_a_cap_is_an_option_or_part_of_the_text(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("request", *COMPLETE, "--cap", "1,000 USD", "--key", "a")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "At most" in result.stdout
    assert "1,000.00 USD" in result.stdout
    lessor("request", *COMPLETE, "cap", "1000", "--key", "a")
    lessor("request", *COMPLETE, "cap:1000", "usd", "--key", "a")
    assert [request.cap for request, _ in gateway.requests] == [Money(Decimal(1000))] * 3
    assert gateway.requests[0] == gateway.requests[1] == gateway.requests[2]


def test_a_cap_that_is_no_amount_sends_nothing(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("request", *COMPLETE, "--cap", "not much")
    assert result.exit_code != 0
    assert "cap: 'not much' is no amount of money; write it like 500, 1,200.50 or 500 USD" in result.stderr
    assert gateway.requests == []
