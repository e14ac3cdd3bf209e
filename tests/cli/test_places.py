"""`lessor places check`: every place is asked, and what is wrong with one is said and makes the command fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.domain.request import Place
from lessor.domain.resource import Tagged
from lessor.ports import PermanentError
from lessor.providers.aws import Ec2Provider
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.sandbox.kubernetes.running import running_cluster
from tests.builders import LEASE_ID
from tests.cli.conftest import FakeGateway
from tests.config.sample import VALID

Lessor = Callable[..., Result]
CLUSTER = "places:\n  - {name: lab, provider: kubernetes, kubernetes: {context: lab, timeout: 2s}}\n"


@pytest.fixture
def configured(lessor: Lessor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lessor:
    """With a cluster beside the account on AWS, which can be read."""
    (tmp_path / "lessor.yaml").write_text(VALID.replace("places:\n", CLUSTER), encoding="utf-8")
    monkeypatch.setenv("LESSOR_DATABASE_URL", f"sqlite:///{tmp_path}/lessor.db")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setattr(Ec2Provider, "conditions", lambda *_: ())
    return lessor


def test_with_the_shipped_role_nothing_is_missing(configured: Lessor, tmp_path: Path) -> None:
    with running_cluster() as running:
        (tmp_path / "kubeconfig").write_text(running.kubeconfig)
        found = configured("places", "check")
    assert (found.exit_code, found.stdout.splitlines()) == (0, ["lab: fine", "research-us: fine"])


def test_what_is_missing_is_listed_by_place(configured: Lessor, tmp_path: Path) -> None:
    with running_cluster() as running:
        role = running.get("ClusterRole", "lessor")
        assert role is not None
        rules = [rule for rule in role["rules"] if rule["resources"] != ["nodes"]]
        running.change("ClusterRole", "lessor", {"rules": rules})
        (tmp_path / "kubeconfig").write_text(running.kubeconfig)
        found = configured("places", "check")
        as_json = configured("places", "check", "--json")
    missing = "list nodes in the cluster: to see what GPUs there are"
    assert found.exit_code == as_json.exit_code == 1
    assert found.stdout.splitlines() == [f"lab: lessor may not {missing}", "research-us: fine"]
    assert json.loads(as_json.stdout)["places"][0] == {
        "place": "lab",
        "fine": False,
        "missing": [missing],
        "problem": None,
    }


def test_a_place_that_cannot_be_asked_does_not_keep_the_others(
    configured: Lessor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: Ec2Provider, place: Place) -> tuple[Tagged, ...]:
        raise PermanentError("EC2 denies reading instances", "denied")

    monkeypatch.setattr(Ec2Provider, "conditions", denied)
    found = configured("places", "check")
    assert found.exit_code == 1
    first, second = found.stdout.splitlines()
    assert first.startswith(f"lab: cluster lab cannot be reached: there is no kubeconfig at {tmp_path}/kubeconfig; ")
    assert second == "research-us: EC2 denies reading instances"


def test_the_kubeconfig_is_that_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_cluster() as running:
        (tmp_path / "other").write_text(running.kubeconfig)
        monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/absent:{tmp_path}/other")
        cluster = Cluster(KubernetesPlace("lab", context="lab"), running.cluster.clock.now)
        assert cluster.endpoint() == (running.base_url, "")


@dataclass
class FakeEntering:
    """Believes what it is told, and remembers who said it."""

    told: list[tuple[str, str, str, str]] = field(default_factory=list)

    async def confirm_closed(self, lease_id: str, person_id: str, reason: str, via: str) -> tuple[str, ...]:
        self.told.append((lease_id, person_id, reason, via))
        return ("dgx-1", "dgx-2")


def test_that_people_were_locked_out_by_hand_is_confirmed_on_the_command_line(
    lessor: Lessor, gateway: FakeGateway
) -> None:
    entering = gateway.entering = FakeEntering()
    asked = lessor("places", "confirm-closed", LEASE_ID, "keys taken off")
    assert (asked.exit_code, entering.told) == (1, [])
    assert "nobody can be asked here, so add --yes to confirm" in asked.output
    found = lessor("places", "confirm-closed", "7k3qxa2m", "keys taken off", "--yes")
    words = f"dgx-1, dgx-2: it is on record that nobody gets in for {LEASE_ID}; it goes on with its next try"
    assert (found.exit_code, found.stdout) == (0, f"{words}\n")
    assert [(lease, *rest) for lease, _, *rest in entering.told] == [(LEASE_ID, "keys taken off", "cli")]
    as_json = lessor("places", "confirm-closed", LEASE_ID, "keys taken off", "--yes", "--json")
    assert json.loads(as_json.stdout) == {"id": LEASE_ID, "closed": ["dgx-1", "dgx-2"], "reason": "keys taken off"}
