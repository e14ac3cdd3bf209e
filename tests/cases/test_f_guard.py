"""Case F40: a second enforcer that needs nothing but the place itself, as a real program against a simulated AWS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lessor.domain.lease import minute
from lessor.domain.request import Market, Need
from lessor.ledger import open_ledger
from lessor.providers.aws import Ec2Provider
from lessor.sandbox.aws.identity import LESSOR_ACCESS_KEY
from tests.builders import a_story
from tests.guarding.scene import NOW, Scene, a_stray
from tests.providers.aws_world import World, place

LESSOR = str(Path(sys.executable).with_name("lessor"))
LATE, EARLY, SPOILT, SPOT = "gpu-00000001", "gpu-00000002", "gpu-00000003", "gpu-00000004"
NOWHERE = "127.0.0.1:9"
"""Nothing listens there."""

CONFIG = textwrap.dedent(
    f"""\
    organisation:
      name: Example
      people: [{{id: U0REQUESTER, email: requester@example.test}}, {{id: U0ADMIN, email: admin@example.test}}]
      teams: {{ml: {{lead: U0REQUESTER}}}}
      admins: [U0ADMIN]
    places:
      - {{name: research, regions: [us-east-1]}}
    notifications:
      email: {{host: 127.0.0.1, port: 9, starttls: false, from: lessor <lessor@example.test>}}
      webhook: {{url: "http://{NOWHERE}/hook"}}
    """
)


class Shell:
    """`lessor guard` as a program, with Temporal, Slack, mail and the ledger where nothing answers."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        (folder / "lessor.yaml").write_text(CONFIG)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LESSOR_CONFIG": str(folder / "lessor.yaml"),
            "LESSOR_DATA": str(folder / "data"),
            "LESSOR_DATABASE_URL": f"postgresql://lessor:secret@{NOWHERE}/lessor",
            "LESSOR_WEBHOOK_SECRET": "not-a-real-secret",
            "TEMPORAL_ADDRESS": NOWHERE,
            "SLACK_API_URL": f"http://{NOWHERE}/api/",
            "SLACK_BOT_TOKEN": "xoxb-not-a-real-token",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": LESSOR_ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def look(self, *options: str, code: int) -> dict[str, Any]:
        """One look as JSON, which has to end with this exit code."""
        ran = subprocess.run(
            [LESSOR, "guard", "--once", "--json", *options],
            check=False,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ran.returncode == code, ran.stderr + ran.stdout
        assert ran.stderr == ""
        told: dict[str, Any] = json.loads(ran.stdout)
        return told

    def an_hour_passes(self) -> None:
        """As the file that lasts from one look to the next says."""
        path = self.folder / "data" / "guard.json"
        page = json.loads(path.read_text())
        for one in page["overdue"].values():
            one["seen_at"] = (datetime.fromisoformat(one["seen_at"]) - timedelta(hours=1)).isoformat()
        path.write_text(json.dumps(page))


@pytest.fixture
def stranger(world: World, provider: Ec2Provider) -> str:
    """An account with four leases, one of them three hours past its end, and a GPU machine that nobody asked for."""
    # The program has a clock of its own, by which all this was made hours ago.
    world.controls.advance(-4 * 3600)
    world.controls.set_delays(stopping=0)
    for lease in (LATE, EARLY, SPOILT):
        world.lease(provider, world.order(provider, Need("A10G", 1), lease_id=lease))
    world.lease(provider, world.order(provider, Need("A10G", 1), market=Market.SPOT, lease_id=SPOT))
    for lease in (LATE, SPOT):
        provider.set_end(lease, place(), datetime.now(UTC) - timedelta(hours=3))
    provider.set_end(EARLY, place(), datetime.now(UTC) + timedelta(hours=3))
    machine = world.controls.instances(SPOILT)[0]["id"]
    client = world.administrator
    client.create_tags(Resources=[machine], Tags=[{"Key": "lessor:ends", "Value": "when I am done"}])
    image = client.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    made = client.run_instances(ImageId=image, InstanceType="g5.xlarge", MinCount=1, MaxCount=1)
    return str(made["Instances"][0]["InstanceId"])


def states(world: World) -> dict[str, list[str]]:
    return {lease: [one["state"] for one in world.controls.instances(lease)] for lease in (LATE, EARLY, SPOILT, SPOT)}


def test_F40_the_end_on_the_machine_is_enforced_while_everything_else_is_down(
    world: World, stranger: str, tmp_path: Path
) -> None:
    shell = Shell(tmp_path, world.simulator.url)
    first = shell.look(code=1)
    assert {one["lease"]: one["stand"] for one in first["leases"]} == {
        LATE: "late",
        EARLY: "fine",
        SPOILT: "unknown",
        SPOT: "fixed",
    }
    assert "cannot be used" in first["ledger"]
    assert any(one.startswith(f"late {LATE}: slack:U0REQUESTER: Slack cannot be reached") for one in first["untold"])
    assert states(world) == {LATE: ["running"], EARLY: ["running"], SPOILT: ["running"], SPOT: ["running"]}

    shell.an_hour_passes()
    second = shell.look(code=1)
    assert [(one["lease"], one["stopped"]) for one in second["acted"]] == [(LATE, True)]
    assert states(world) == {LATE: ["stopped"], EARLY: ["running"], SPOILT: ["running"], SPOT: ["running"]}
    assert world.controls.calls("TerminateInstances") == 0
    assert world.controls.calls("StopInstances") == 1

    third = shell.look(code=1)
    assert third["acted"] == []
    assert any(one.startswith(f"stopped {LATE}: ") for one in third["untold"])
    assert "secret" not in json.dumps([first, second, third])


def test_F40_a_gpu_machine_without_a_lease_is_told_and_never_stopped(
    world: World, stranger: str, tmp_path: Path
) -> None:
    shell = Shell(tmp_path, world.simulator.url)
    for _ in range(2):
        (one,) = shell.look(code=1)["unleased"]
        assert (one["ref"], one["place"], one["who"]) == (stranger, "aws/research/us-east-1", None)
        assert one["what"].startswith("g5.xlarge (1 x A10G) in us-east-1")
        assert one["hourly"] == "1.01 USD"
    shell.an_hour_passes()
    shell.look(code=1)
    machine = world.administrator.describe_instances(InstanceIds=[stranger])["Reservations"][0]["Instances"][0]
    assert machine["State"]["Name"] == "running"


async def test_F40_it_is_told_each_day_once_until_somebody_deals_with_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.grounds.strays = {"research": (a_stray(),)}
    for _ in range(24):
        await scene.look()
        scene.pass_time(timedelta(hours=3))
    assert [(one.kind, one.at.date()) for one in scene.channels[0].got] == [
        ("unleased", (NOW + timedelta(days=day)).date()) for day in range(4)
    ]
    scene.grounds.strays = {}
    scene.pass_time(timedelta(days=1))
    await scene.look()
    assert (len(scene.told()), scene.grounds.stopped) == (4, [])


def test_F40_what_the_ledger_says_runs_on_is_told_and_not_stopped(world: World, stranger: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path, world.simulator.url)
    shell.environment["LESSOR_DATABASE_URL"] = url = f"sqlite:///{tmp_path}/lessor.db"
    lease, events = a_story()
    later = (datetime.now(UTC) + timedelta(hours=5)).replace(second=0, microsecond=0)
    ledger = open_ledger(url)
    ledger.record(replace(lease, id=LATE, ends_at=later), events[-1:])
    ledger.close()
    for _ in range(2):
        told = shell.look(code=1)
        found = {one["lease"]: (one["stand"], one["why"]) for one in told["leases"]}
        assert found[LATE] == ("disputed", f"the ledger says that it is active and ends {minute(later)}")
        assert (told["acted"], told["ledger"]) == ([], None)
        shell.an_hour_passes()
    assert states(world)[LATE] == ["running"]


def test_F40_a_dry_run_says_the_same_and_changes_nothing(world: World, stranger: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path, world.simulator.url)
    shell.look(code=1)
    shell.an_hour_passes()
    before = (tmp_path / "data" / "guard.json").read_text()
    told = shell.look("--dry-run", code=1)
    assert (told["dry_run"], told["acted"], told["told"], told["untold"]) == (True, [], [], [])
    assert {one["lease"]: one["stand"] for one in told["leases"]}[LATE] == "due"
    assert states(world)[LATE] == ["running"]
    assert (tmp_path / "data" / "guard.json").read_text() == before
