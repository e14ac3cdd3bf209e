"""CPU per lease and leases per second: whole lives beside bare workflows that ask the same of Temporal."""

from __future__ import annotations

from datetime import timedelta
from statistics import median

from bench.bare import Bare, script_of
from bench.people import MANAGER, requester
from bench.result import Result
from bench.stage import Spent, Stage, approval, each, stage
from lessor.contracts import Act, Verb
from lessor.domain.lease import State
from lessor.domain.terms import Terms

ROUNDS = 3
LEASES = 100
IN_FLIGHT = 100
LOOK_SECONDS = 0.5
"""Between looks at each lease's state in the ledger: a hundred that are looked at ten times a second would take a good
part of a CPU from those who are measured, and nobody asks for the floor's."""

TERMS = Terms(
    warnings=(),
    short_warnings=(timedelta(milliseconds=500), timedelta(milliseconds=250), timedelta(milliseconds=100)),
    notice=timedelta(milliseconds=50),
    min_duration=timedelta(milliseconds=1),
    grace=timedelta(milliseconds=200),
    verify_interval=timedelta(milliseconds=100),
)
LENGTH = timedelta(seconds=4)
LONGER = timedelta(milliseconds=500)

BEGUN = (State.ACTIVE, State.ENDING, State.STOPPED, State.DELETING, State.CLOSED)

Round = tuple[Spent, Spent, Spent, list[str]]


async def run(scale: float) -> list[Result]:
    """A life: request, policy, approval, provisioning, warnings, one extension, end, grace, deletion, proof."""
    count = max(int(LEASES * scale), 4)
    rounds: list[Round] = []
    async with stage() as on:
        await _lives(on, 4)
        for _ in range(ROUNDS):
            rounds.append(await _round(on, count))
    return _results(rounds, count)


async def _round(on: Stage, count: int) -> Round:
    """Lives, then the floor playing exactly what these lives asked for, with and without local activities."""
    lived: list[str] = []
    ours = await on.spent(on.product, lambda: _lives(on, count, lived))
    scripts = [await _script(on, lease_id) for lease_id in lived]
    bare = await on.spent(on.bare, lambda: _play(on, scripts))
    remote = [script.replace("l", "") for script in scripts]
    return ours, bare, await on.spent(on.bare, lambda: _play(on, remote)), scripts


def _results(rounds: list[Round], count: int) -> list[Result]:
    ours, bare, remote = ([one[0] for one in rounds], [one[1] for one in rounds], [one[2] for one in rounds])
    scripts = [script for one in rounds for script in one[3]]
    results = []
    # The targets are for a floor with the same activities; how much of ours is local is told beside it.
    for words, floor, most, least in (("", bare, 1.5, 0.7), (", floor without local activities", remote, None, None)):
        cpu, floor_cpu = (median(s.cpu for s in found) * 1000 / count for found in (ours, floor))
        pace, floor_pace = (count / median(s.wall for s in found) for found in (ours, floor))
        results.append(Result(f"CPU per lease, server + worker{words}", cpu, "ms", most, floor_cpu))
        results.append(Result(f"lease lives per second{words}", pace, "1/s", least, floor_pace, at_least=True))
    for part in ("server", "worker"):
        mine, floors = (median(getattr(s, part) for s in found) * 1000 / count for found in (ours, bare))
        results.append(Result(f"CPU per lease, {part} alone", mine, "ms", None, floors))
    for letters, what in (("r", "remote activities"), ("l", "local activities"), ("tc", "timers"), ("uc", "updates")):
        per_lease = sum(script.count(letter) for script in scripts for letter in letters) / len(scripts)
        results.append(Result(f"{what} per lease", per_lease, ""))
    return results


async def _lives(on: Stage, count: int, lived: list[str] | None = None) -> None:
    async def live(_: int) -> None:
        lease_id = await on.lease(TERMS, duration=LENGTH)
        await on.act(lease_id, approval(lease_id, MANAGER.id))
        found = await on.until(lease_id, *BEGUN, every=LOOK_SECONDS)
        if found.state is State.ACTIVE and found.ends_at:
            # Refused when the end came first: then the floor's script has no effect of it either.
            extend = Act(f"extend-{lease_id}", Verb.EXTEND, requester(lease_id).id, until=found.ends_at + LONGER)
            await on.handle(lease_id).execute_update(extend.verb.value, extend, id=extend.id)
        outcome = await on.handle(lease_id).result()
        if outcome.state != State.CLOSED:
            raise RuntimeError(f"{lease_id} ended as {outcome.state}")
        if lived is not None:
            lived.append(lease_id)

    await each(range(count), live, at_once=IN_FLIGHT)


async def _script(on: Stage, lease_id: str) -> str:
    return script_of([event async for event in on.handle(lease_id).fetch_history_events()])


async def _play(on: Stage, scripts: list[str]) -> None:
    async def play(script: str) -> None:
        handle = await on.bare_workflow(Bare.run, script)
        for number in range(script.count("u") + script.count("c")):
            await handle.execute_update(Bare.tell, id=f"tell-{number}")
        await handle.result()

    await each(scripts, play, at_once=IN_FLIGHT)
