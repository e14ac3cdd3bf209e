"""`/gpu admin`: what administrators see and decide about the whole fleet."""

from __future__ import annotations

from lessor.contracts import MeterReport, SourceReport
from lessor.domain.idle_plan import IdlePlan
from lessor.sandbox.slack import RunningSandbox, visible_text
from lessor.when import local
from tests.bot.doing_nothing import HOUR, seen_idle
from tests.bot.world import ADMIN, World, a_world


async def test_admin_is_for_administrators(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", "admin brake on because")
    await requester.wait_for_ephemeral("/gpu admin is for administrators")
    assert not world.ledger.brake().on


async def test_the_brake_needs_a_reason_and_is_in_the_audit(world: World) -> None:
    admin = world.slack.person("admin")
    await admin.command("/gpu", "admin brake on")
    await admin.wait_for_ephemeral("say why")
    await admin.command("/gpu", "admin brake on the exporter was changed <today>")
    told = visible_text(await admin.wait_for_ephemeral("*The brake is on*"))
    assert "by <@U0ADMIN>" in told
    assert "> the exporter was changed <today>" in told
    assert "Nothing is stopped for doing nothing." in told
    brake = world.ledger.brake()
    assert (brake.on, brake.by, brake.reason) == (True, ADMIN.id, "the exporter was changed <today>")
    await admin.open_home()
    assert "*The brake is on*" in visible_text(await admin.wait_for_home("*The brake is on*"))
    await admin.command("/gpu", "admin brake off it is fine")
    await admin.wait_for_ephemeral("*The brake is off*")
    await admin.command("/gpu", "admin brake")
    assert "> it is fine" in visible_text(await admin.wait_for_ephemeral(lambda m: "it is fine" in visible_text(m)))
    await admin.command("/gpu", "admin brake perhaps")
    await admin.wait_for_ephemeral("write /gpu admin brake on REASON, off REASON, or status")
    assert [s.event.type for s in world.ledger.export() if s.lease_id == "fleet"] == ["brake-on", "brake-off"]


async def test_the_meter_says_that_nothing_is_metered(world: World) -> None:
    admin = world.slack.person("admin")
    await admin.command("/gpu", "admin meter")
    await admin.wait_for_ephemeral("*Nothing is metered.*")
    await admin.command("/gpu", "admin")
    await admin.wait_for_ephemeral("write /gpu admin brake on|off|status reason")


async def test_spare_until_its_end_until_then_and_no_longer(world: World) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()))
    admin = world.slack.person("admin")
    await admin.command("/gpu", f"admin spare {lease.id} serves customers")
    await admin.wait_for_ephemeral("is not stopped for doing nothing until its end")
    spared = world.engine.leases[lease.id].spared
    assert spared is not None
    assert (spared.until, spared.reason) == (None, "serves customers")
    await admin.command("/gpu", f"admin spare {lease.id} in 2 days a demo")
    await admin.wait_for_ephemeral(lambda m: "is not stopped for doing nothing until" in visible_text(m))
    await world.settled()
    spared = world.engine.leases[lease.id].spared
    assert spared is not None
    assert spared.until is not None
    assert spared.reason == "a demo"
    await admin.command("/gpu", f"admin spare {lease.id} off")
    await admin.wait_for_ephemeral("is not spared any more")
    assert world.engine.leases[lease.id].spared is None


async def test_the_meter_shows_each_source_and_that_nobody_watches(slack: RunningSandbox, sqlite_url: str) -> None:
    async with a_world(slack, sqlite_url, idle=IdlePlan()) as world:
        at = (world.clock() - HOUR).replace(second=0, microsecond=0)
        good = SourceReport("prometheus", True, 24, dropped=2, last_good=at, unlabelled={"node-1": 0.1})
        silent = SourceReport("cloudwatch", False, problem="HTTP 403 <denied>", silent=3, last_good=at - HOUR)
        report = MeterReport(at, sources=(good, silent), leases=12, verdicts={"busy": 9, "idle": 2, "unknown": 1})
        world.ledger.meter(at, [], report)
        admin = slack.person("admin")
        await admin.command("/gpu", "admin meter")
        told = visible_text(await admin.wait_for_ephemeral("*Meter:*"))
    zone = "UTC"
    assert f"latest tick {local(at, zone)}, 12 leases: 9 busy, 2 idle, 1 unknown" in told
    assert "• `prometheus`: 24 GPUs and machines, 2 samples dropped, 0 capped; in use without a label: 10 % on" in told
    assert "• `cloudwatch`: *silent* for 3 ticks: HTTP 403 <denied>; last good answer" in told
    assert "The brake is off." in told


async def test_an_administrator_confirms_that_people_were_locked_out_by_hand(world: World) -> None:
    lease = await world.running(await world.ask())
    admin = world.slack.person("admin")
    await admin.command("/gpu", "admin confirm-closed")
    await admin.wait_for_ephemeral("the lease id is missing; write /gpu admin confirm-closed ID reason")
    await admin.command("/gpu", f"admin confirm-closed {lease.id}")
    await admin.wait_for_ephemeral("say how they were locked out: it goes on record; nothing was changed")
    await admin.command("/gpu", f"admin confirm-closed {lease.id} keys taken off")
    await admin.wait_for_ephemeral(f"nothing of {lease.id} has to be confirmed")
    world.cloud.unseen = lambda *_: ("dgx-1",)  # type: ignore[attr-defined]
    world.cloud.confirm_closed = lambda *_: None  # type: ignore[attr-defined]
    await admin.command("/gpu", f"admin confirm-closed {lease.id} keys taken off")
    await admin.wait_for_ephemeral(f"On record: nobody gets into dgx-1 for `{lease.id}` any more.")
    (said,) = [one.event for one in world.ledger.events(lease.id) if one.event.type == "closed-by-hand"]
    assert (said.actor, dict(said.data)) == (
        ADMIN.id,
        {"reason": "keys taken off", "resources": "dgx-1", "via": "slack"},
    )
