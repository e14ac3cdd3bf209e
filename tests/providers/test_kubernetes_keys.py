"""Accesses to leases in clusters: for how long, into what, and that nothing of them stays behind."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import timedelta

import pytest
import yaml

from lessor.ports import PermanentError
from lessor.providers.kubernetes import keys, ownership
from lessor.providers.kubernetes.api import SERVICE_ACCOUNT
from tests.providers.attempts import Beats, silent
from tests.providers.kube_leases import BEGIN, LEASE, Beginning


@pytest.fixture
def world() -> Beginning:
    made = Beginning()
    made.lease(made.order())
    return made


def test_a_kubeconfig_opens_the_namespace_and_nothing_else(world: Beginning) -> None:
    given = keys.credentials(world.site, LEASE, silent)
    assert yaml.safe_load(given.text) == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "lab",
                "cluster": {
                    "server": "https://lab.example.test:6443",
                    "certificate-authority-data": base64.b64encode(world.api.endpoint()[1].encode()).decode(),
                },
            }
        ],
        "users": [{"name": LEASE, "user": {"token": "secret-token-1"}}],
        "contexts": [{"name": LEASE, "context": {"cluster": "lab", "namespace": LEASE, "user": LEASE}}],
        "current-context": LEASE,
    }
    assert (given.file, given.until) == (f"{LEASE}.kubeconfig", BEGIN + timedelta(hours=8))
    assert world.api.tokens == [(LEASE, "lessor-access", timedelta(hours=8))]


def test_a_public_certificate_needs_no_authority(world: Beginning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.api, "endpoint", lambda: ("https://eks.example.test", ""))
    (cluster,) = yaml.safe_load(keys.credentials(world.site, LEASE, silent).text)["clusters"]
    assert cluster["cluster"] == {"server": "https://eks.example.test"}


def test_people_get_the_address_under_which_they_reach_the_cluster(world: Beginning) -> None:
    world.config = replace(world.config, address="https://lab.example.com:6443")
    (cluster,) = yaml.safe_load(keys.credentials(world.site, LEASE, silent).text)["clusters"]
    assert cluster["cluster"]["server"] == "https://lab.example.com:6443"


@pytest.mark.parametrize(
    ("configured", "until_the_end", "length"),
    [
        (timedelta(hours=2), timedelta(hours=8), timedelta(hours=2)),
        (timedelta(hours=8), timedelta(hours=1), timedelta(hours=1)),
        (timedelta(hours=8), timedelta(minutes=1), timedelta(minutes=10)),
        (timedelta(days=9), timedelta(days=9), timedelta(hours=24)),
    ],
)
def test_it_ends_with_the_lease_at_the_latest_that_servers_allow(
    world: Beginning, configured: timedelta, until_the_end: timedelta, length: timedelta
) -> None:
    world.config = replace(world.config, access=configured)
    ownership.set_end(world.site, LEASE, BEGIN + until_the_end)
    assert keys.credentials(world.site, LEASE, silent).until == BEGIN + length


def test_each_is_new_and_the_secret_is_told_to_nobody_else(world: Beginning) -> None:
    beats = Beats()
    first, second = (keys.credentials(world.site, LEASE, beats) for _ in range(2))
    assert "secret-token-2" in second.text
    assert "secret-token" not in repr(first)
    assert beats.told == [f"asking for a token of lessor-access in {LEASE}"] * 2
    assert "secret-token" not in repr(world.api.objects)


def test_an_account_that_somebody_has_deleted_is_made_again(world: Beginning) -> None:
    world.api.remove((SERVICE_ACCOUNT, LEASE, "lessor-access"))
    assert "secret-token-1" in keys.credentials(world.site, LEASE, silent).text
    account = world.obj(SERVICE_ACCOUNT, "lessor-access")
    assert account["automountServiceAccountToken"] is False
    assert account["metadata"]["labels"]["lessor.dev/lease"] == LEASE


def test_there_is_none_to_what_is_not_there(world: Beginning) -> None:
    with pytest.raises(PermanentError, match="no namespace gpu-00000009") as caught:
        keys.credentials(world.site, "gpu-00000009", silent)
    assert caught.value.code == "none-seen"
    assert world.api.tokens == []
