"""Typed requests: every spelling and order gives the same draft, and nothing that was typed is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.request import Market, Need, Place, Request, Workload
from lessor.gateway import PlaceChoice
from lessor.offering import ModelChoice
from lessor.ports import Team
from lessor.when import End
from tests.intake.typed import BERLIN, EXPECTED, US, WHOLE, Offer, read


@pytest.mark.parametrize("text", ["8 x dgx-1 2d in pool", "in pool 8 x DGX-1 2d"])
def test_a_machine_of_a_pool_is_asked_for_by_its_name(text: str) -> None:
    draft = read(text, Offer(places=(*Offer().places, PlaceChoice("pool", "Ours", "machines"))))
    assert draft.need == Need("dgx-1", 8)
    assert [problem.field for problem in draft.problems] == []


def test_elsewhere_and_beside_a_model_a_name_is_an_unknown_model() -> None:
    offer = Offer(places=(*Offer().places, PlaceChoice("pool", "Ours", "machines")))
    for text in ("8 x dgx-1 2d in eu", "8 x dgx-1 2d", "8 x dgx-1 a100 80gb 2d in pool"):
        told = [problem.message for problem in read(text, offer).problems if problem.field == "need"]
        assert told == ["'dgx-1' is no GPU model that is known here"], text


NAMES = ("T4", "L4", "A10G", "A100-40GB", "A100-80GB", "H100", "H200", "L40S", "MI300X", "V100")


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("h10", "; did you mean H100 or V100 or H200?"),
        ("a100-81gb", "; did you mean A100-80GB or A100-40GB or A10G?"),
        ("z999", "; there are: T4, L4, A10G, A100-40GB, A100-80GB, H100, H200, L40S and 2 more"),
    ],
)
@pytest.mark.parametrize("text", ["2 x {} 8h", "gpu:{} 8h"])
def test_a_model_that_nobody_knows_is_kept_and_told_with_those_that_look_like_it(
    text: str, word: str, instead: str
) -> None:
    offer = Offer(models=tuple(ModelChoice(name, name, 0) for name in NAMES))
    draft = read(text.format(word), offer)
    told = [problem.message for problem in draft.problems if problem.field == "need"]
    assert told == [f"'{word}' is no GPU model that is known here{instead}"]
    assert draft.unknown == word


def test_a_complete_text_is_a_request() -> None:
    draft = read(WHOLE)
    assert draft == EXPECTED
    assert draft.complete
    assert draft.request("U0REQUESTER", "slack:1") == Request(
        requester="U0REQUESTER",
        team="research",
        purpose="fine-tune the ranking model",
        workload=Workload.TRAINING,
        need=Need("A100-80GB", 2),
        place=US,
        duration=timedelta(hours=8),
        interaction="slack:1",
    )


PARTS = ("2 x a100 80gb", "for 8h", "training", '"fine-tune the ranking model"', "team:research", "on-demand",
         "in research-us")  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.permutations(PARTS))
def test_the_order_never_matters(parts: list[str]) -> None:
    assert read(" ".join(parts)) == EXPECTED


@pytest.mark.parametrize(
    ("opening", "closing"), [("“", "”"), ("‘", "’"), ("'", "'"), ("„", "“"), ("«", "»"), ("“", '"'), ("”", "”")]
)
def test_A15_all_quotes_give_the_same(opening: str, closing: str) -> None:
    assert read(WHOLE.replace('"fine', f"{opening}fine").replace('model"', f"model{closing}")) == EXPECTED


@pytest.mark.parametrize("word", ["it’s", "it's", "users’", "don’t"])
def test_A15_an_apostrophe_in_an_unquoted_reason_is_a_letter(word: str) -> None:
    draft = read(f"a100 8h {word} urgent")
    assert (draft.purpose, draft.problems) == (f"{word} urgent", ())


@pytest.mark.parametrize("quoted", ["“it’s urgent”", "'it's urgent'", "‘it’s urgent’"])
def test_A15_an_apostrophe_inside_quotes_does_not_close_them(quoted: str) -> None:
    assert read(f"a100 8h {quoted}").purpose == quoted[1:-1]


def test_A15_a_quote_that_is_never_closed_is_kept_and_hides_nothing() -> None:
    draft = read("a100 8h “fine tune team:research")
    assert (draft.purpose, draft.team) == ("“fine tune", "research")


@pytest.mark.parametrize("space", ["\u00a0", "\u200b", "\ufeff", "\t", "\n", " \u00a0 ", "\u202f", "\u3000", "\r\n"])
def test_A17_every_invisible_space_separates(space: str) -> None:
    assert read(f"{space}request{space}g5.xlarge{space}8h") == read("request g5.xlarge 8h")
    assert read(WHOLE.replace(" ", space)) == EXPECTED


def test_A17_the_command_as_pasted() -> None:
    draft = read("\u00a0request\u00a0g5.xlarge\u00a08h")
    assert draft.need == Need(instance_type="g5.xlarge")
    assert draft.end == End(duration=timedelta(hours=8), zone=BERLIN)
    assert draft.missing == ("team", "workload", "purpose", "place")


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("2 x a100 80gb", Need("A100-80GB", 2)),
        ("2x a100 80 GB", Need("A100-80GB", 2)),
        ("2xA100-80GB", Need("A100-80GB", 2)),
        ("2 × nvidia a100 80gb", Need("A100-80GB", 2)),
        ("2 a100-80gb", Need("A100-80GB", 2)),
        ("a100 80gb x 2", Need("A100-80GB", 2)),
        ("a100 80gb x2,", Need("A100-80GB", 2)),
        ("h100", Need("H100", 1)),
        ("a100 80", Need("A100-80GB", 1)),
        ("8 H100s", Need("H100", 8)),
        ("0 x h100", Need("H100", 0)),
        ("10000 x h100", Need("H100", 10_000)),
        ("rtx pro 6000", Need("RTX-PRO-6000", 1)),
        ("4 gpus with 80 gb", Need("", 4, 80)),
        ("2 x 80gb", Need("", 2, 80)),
        ("gpu:h100 count:4", Need("H100", 4)),
        ("h100 gpus:4", Need("H100", 4)),
        ("memory:80 count:2", Need("", 2, 80)),
        ("type:p5.48xlarge", Need(instance_type="p5.48xlarge")),
        ("1 x g5.xlarge", Need(instance_type="g5.xlarge")),
        ("G5.XLARGE", Need(instance_type="g5.xlarge")),
        ("u7i.metal-24xl", Need(instance_type="u7i.metal-24xl")),
    ],
)
def test_needs(text: str, need: Need) -> None:
    draft = read(f"{text} 8h")
    assert (draft.need, draft.purpose, draft.problems) == (need, "", ())
    assert draft.end_text == "8h"


@pytest.mark.parametrize(
    ("text", "end_text", "purpose"),
    [
        ("a100 until friday 18:00 tests", "until friday 18:00", "tests"),
        ("a100 until the end of next month tests", "until the end of next month", "tests"),
        ("a100 end: friday 18:00 tests", "friday 18:00", "tests"),
        ("a100 for:8h tests", "8h", "tests"),
        ('a100 until:"end of month" tests', "end of month", "tests"),
        ("a100 1 day 4 h tests", "1 day 4 h", "tests"),
        ("a100 friday tests", "friday", "tests"),
        ("a100 8h the friday run", "8h", "the friday run"),
        ("a100 run the friday batch", "", "run the friday batch"),
        ("a100 for the ranking model 8h", "8h", "for the ranking model"),
        ("a100 2026-12-24", "2026-12-24", ""),
        ("a100-80gb 80 h", "80 h", ""),
        ("a100 80 hours", "80 hours", ""),
    ],
)
def test_ends(text: str, end_text: str, purpose: str) -> None:
    draft = read(text)
    assert (draft.end_text, draft.purpose) == (end_text, purpose)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("in research-us", US),
        ("place:research-us", US),
        ("in Research-US", US),
        ("in eu", Place("aws", "eu", "eu-west-1")),
        ("in eu-west-1", Place("aws", "eu", "eu-west-1")),
        ("us-west-2", Place("aws", "research-us", "us-west-2")),
        ("zone:us-east-1a", Place("aws", "research-us", "us-east-1", "us-east-1a")),
        ("region:us-east-1 zone:us-east-1a", Place("aws", "research-us", "us-east-1", "us-east-1a")),
        ("eu-west-1b", Place("aws", "eu", "eu-west-1", "eu-west-1b")),
    ],
)
def test_places(text: str, place: Place) -> None:
    draft = read(f"a100 {text}")
    assert (draft.place, draft.purpose, draft.problems) == (place, "", ())


@pytest.mark.parametrize(
    ("text", "workload", "market"),
    [
        ("fine tuning spot", Workload.FINE_TUNING, Market.SPOT),
        ("finetuning on demand", Workload.FINE_TUNING, Market.ON_DEMAND),
        ("workload:batch-inference market:capacity-block", Workload.BATCH_INFERENCE, Market.CAPACITY_BLOCK),
        ("for Real-Time inference", None, Market.ON_DEMAND),
        ("realtime inference", Workload.REALTIME_INFERENCE, Market.ON_DEMAND),
        ("as notebook", Workload.NOTEBOOK, Market.ON_DEMAND),
        ("experiment", Workload.EXPERIMENT, Market.ON_DEMAND),
    ],
)
def test_workloads_and_markets(text: str, workload: Workload | None, market: Market) -> None:
    draft = read(f"a100 {text}")
    if workload is None:
        workload = Workload.REALTIME_INFERENCE
    assert (draft.workload, draft.market, draft.purpose) == (workload, market, "")


def test_all_other_options() -> None:
    draft = read("a100 disk:500gb snapshot tag:project=x tag:run=7 cost-center:4711 --team platform —market spot")
    assert (draft.disk_gib, draft.snapshot, draft.cost_center) == (500, True, "4711")
    assert (draft.tags, draft.team, draft.market) == ({"project": "x", "run": "7"}, "platform", Market.SPOT)
    assert draft.purpose == ""


def test_the_only_team_and_place_are_taken() -> None:
    only = Offer(teams=(Team("research"),), places=(PlaceChoice("eu", "EU", "aws", ("eu-west-1",)),))
    draft = read("a100 8h", only)
    assert (draft.team, draft.place) == ("research", Place("aws", "eu", "eu-west-1"))
    assert draft.missing == ("workload", "purpose")


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("2 x z999 8h", "need", "'z999' is no GPU model that is known here"),
        ("gpu:z999", "need", "'z999' is no GPU model that is known here"),
        ("2 x g5.xlarge", "need", "'2 x g5.xlarge' asks for 2 machines; one request is for one machine: ask for GPUs, "
         "such as 4 x a10g, or send several requests"),
        ("2 x a100 4 x h100", "need", "'4 x h100' is asked for as well; one request is for one kind of GPU"),
        ("a100 count:many", "count", "'many' is not a whole number; 1 to 64 are allowed in one request"),
        ("a100 count:10000000000", "count", "'10000000000' is too large; 1 to 64 are allowed in one request"),
        ("a100 count:-1", "count", "'-1' is too small; 1 to 64 are allowed in one request"),
        ("a100 memory:much", "need", "'much' is not a whole number; 1 to 1,024 are allowed"),
        ("2 x a100 count:4", "count", "'4' contradicts what was said before"),
        ("a100 8h 3d", "end", "both '8h' and '3d' are given; choose one"),
        ("a100 until: whenever", "end", "'whenever' is not understood; write for example '8 h' or '3 days' or "
         "'tomorrow 18:00'"),
        ("a100 9999h", "end", "'9999h' is 416 d 15 h away; 15 min to 30 d from now are allowed; write for example "
         "'8 h' or '3 days' or 'tomorrow 18:00'"),
        ("a100 team:nobody", "team", "'nobody' is not a team of yours; yours: research, platform"),
        ("a100 team:research team:platform", "team", "both 'research' and 'platform' are given; choose one"),
        ("a100 place:mars", "place", "'mars' is not configured; choose one of: research-us, eu"),
        ("a100 in eu in research-us", "place", "both aws/eu/eu-west-1 and aws/research-us are asked for; choose one"),
        ("a100 spot on-demand", "market", "both 'spot' and 'on-demand' are given; choose one"),
        ("a100 market:free", "market", "'free' is none of: on-demand, spot, capacity-block"),
        ("a100 disk:huge", "disk_gib", "'huge' is not a whole number; 8 to 16,384 are allowed"),
        ("a100 disk:10000000000gb", "disk_gib", "'10000000000' is too large; 8 to 16,384 are allowed"),
        ("a100 tag:x", "tags", "'x' is no tag; write tag:key=value"),
        ("a100 snapshot:maybe", "snapshot", "'maybe' is neither yes nor no"),
        ("a100 taem:research", "purpose", "'taem:' is no option; did you mean 'team:'?"),
    ],
)  # fmt: skip
def test_problems(text: str, field: str, message: str) -> None:
    assert [(problem.field, problem.message) for problem in read(text).problems] == [(field, message)]


@pytest.mark.parametrize("text", ["a100 8h {}", "a100 end: 8h {}", "a100 start: monday 9:00 {}"])
def test_an_end_and_a_start_take_no_long_words_with_them(text: str) -> None:
    draft = read(text.format(f"project:{'x' * 120}"))
    assert (draft.project, draft.problems) == ("x" * 120, ())


def test_a_web_address_in_the_purpose_is_no_option() -> None:
    draft = read("a100 8h see https://example.com/team:x?a=b now")
    assert (draft.purpose, draft.problems) == ("see https://example.com/team:x?a=b now", ())
