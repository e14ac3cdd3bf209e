"""What the configuration says of clusters, in the provider's words, and who gets into a lease's namespace there."""

from __future__ import annotations

from dataclasses import fields
from datetime import date, timedelta
from decimal import Decimal

from lessor.config import loads
from lessor.config.clusters import KubernetesConfig
from lessor.domain.money import Money
from lessor.placing import kubernetes_places, subjects
from lessor.providers.kubernetes.place import KubernetesPlace, Rate
from lessor.reload import LiveConfig
from tests.config.sample import VALID

CLUSTER = """
  - name: lab
    provider: kubernetes
    kubernetes:
      context: lab-admin
      uid: 5a0c4f7e-1f0e-4a51-9a3c-2d6f0c1b7e11
      address: https://lab.example.test:6443
      rates:
        A100-80GB: {hourly: 1.85, since: 2026-11-01}
        H100: {hourly: 3.20}
      disks: {gib_month: 0.09, since: 2026-07-01}
      cluster_queue: gpus
      user_prefix: "oidc:"
      timeout: 4s
      workspace: {image: registry.example.test/notebook:7, user: 1234}
"""


def with_cluster(text: str = VALID) -> str:
    head, _, tail = text.partition("places:\n")
    return f"{head}places:{CLUSTER}{tail}"


def test_a_cluster_is_what_the_configuration_says() -> None:
    places = kubernetes_places(loads(with_cluster()))
    assert list(places) == ["lab"]
    lab = places["lab"]
    assert (lab.context, lab.cluster_queue, lab.user_prefix, lab.timeout) == (
        "lab-admin",
        "gpus",
        "oidc:",
        timedelta(seconds=4),
    )
    assert (lab.uid, lab.address) == ("5a0c4f7e-1f0e-4a51-9a3c-2d6f0c1b7e11", "https://lab.example.test:6443")
    assert lab.rates == {
        "A100-80GB": Rate(Money(Decimal("1.85"), "USD"), date(2026, 11, 1)),
        "H100": Rate(Money(Decimal("3.20"), "USD")),
    }
    assert (lab.disk_monthly, lab.disk_since) == (Money(Decimal("0.09"), "USD"), date(2026, 7, 1))
    assert (lab.workspace.image, lab.workspace.user, lab.workspace.port) == (
        "registry.example.test/notebook:7",
        1234,
        8888,
    )


def test_what_the_configuration_does_not_say_is_as_the_provider_has_it() -> None:
    text = with_cluster().replace(CLUSTER[CLUSTER.index("    kubernetes:") :], "    kubernetes: {}\n")
    assert kubernetes_places(loads(text))["lab"] == KubernetesPlace("lab")


EVERYTHING = """
  - name: lab
    provider: kubernetes
    kubernetes:
      context: lab
      uid: u-1
      address: https://lab.example.test
      kinds: [workspace]
      rates: {H100: {hourly: 1}}
      resources: {example.com/gpu: L4}
      disks: {gib_month: 1, since: 2026-01-01}
      storage_class: fast
      claims_kept: 1d
      delete_retained: true
      cluster_queue: gpus
      role: view
      user_prefix: "oidc:"
      access: 1h
      tolerations: {dedicated: ml}
      node_selector: {pool: gpu}
      timeout: 1s
      pending_after: 1min
      workspace:
        image: a
        images: {notebook: b}
        command: [run]
        port: 1
        mount: /data
        cpu: "1"
        memory: 1Gi
        user: 7
        template: own.j2
"""


def test_every_setting_arrives() -> None:
    head, _, tail = VALID.partition("places:\n")
    lab = kubernetes_places(loads(f"{head}places:{EVERYTHING}{tail}"))["lab"]
    usual = KubernetesPlace("lab")
    assert [one.name for one in fields(lab) if getattr(lab, one.name) == getattr(usual, one.name)] == [
        "name",
        "in_cluster",
    ]
    work = lab.workspace
    assert [one.name for one in fields(work) if getattr(work, one.name) == getattr(usual.workspace, one.name)] == []
    inside = EVERYTHING.replace("context: lab", "in_cluster: true")
    assert kubernetes_places(loads(f"{head}places:{inside}{tail}"))["lab"].in_cluster
    settings = set(KubernetesConfig.model_fields) - {"disks"} | {"disk_monthly", "disk_since", "name"}
    assert settings == {one.name for one in fields(lab)}


def test_no_cluster_is_no_place() -> None:
    assert kubernetes_places(loads(VALID)) == {}


def test_owner_and_lead_get_in_by_their_addresses_and_nobody_twice() -> None:
    who = subjects(LiveConfig(loads(VALID)))
    assert who("U0REQUESTER", "research") == ("Requester@Example.com", "manager@example.com")
    assert who("manager@example.com", "research") == ("manager@example.com",)
    assert who("U0STRANGER", "nobody") == ()


def test_a_whole_team_gets_in_where_a_lease_is_shared_with_it() -> None:
    who = subjects(LiveConfig(loads(VALID)))
    assert who("team:research", "") == ("manager@example.com", "Requester@Example.com")


def test_who_left_does_not_get_in() -> None:
    left = VALID.replace("name: Requester, email", "name: Requester, active: false, email")
    assert subjects(LiveConfig(loads(left)))("U0REQUESTER", "research") == ("manager@example.com",)
