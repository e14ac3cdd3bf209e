"""Settings of a cluster that would do nothing, or not what they say, are told when the file is read."""

from __future__ import annotations

import pytest

from lessor.config import loads
from tests.config.sample import VALID, refusal


def with_place(kubernetes: str = "{}", more: str = "") -> str:
    place = f"  - {{name: lab, provider: kubernetes, kubernetes: {kubernetes}{more}}}\n"
    return VALID.replace("places:\n", f"places:\n{place}", 1)


@pytest.mark.parametrize(
    "settings",
    [
        "{}",
        "{in_cluster: true, timeout: 5min, access: 24h, pending_after: 1s}",
        "{context: lab, access: 10min, kinds: [workspace]}",
        "{resources: {example.com/gpu: L4, nvidia.com/gpu.shared: T4-shared-4}}",
        "{node_selector: {pool: '', example.com/pool: gpu_1}, tolerations: {nvidia.com/gpu: '', dedicated: ml}}",
        "{workspace: {images: {notebook: a, realtime-inference: b}, cpu: 500m, memory: 1.5Gi}}",
    ],
)
def test_what_means_something_is_taken(settings: str) -> None:
    assert loads(with_place(settings)).place("lab") is not None


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        (
            "{in_cluster: true, context: lab}",
            "context",
            "is of use only without in_cluster, where the worker's own account is used",
        ),
        ("{kinds: [namespace, machine]}", "kinds[1]", "is no lease of a cluster; allowed: namespace, workspace"),
        ("{access: 9min}", "access", "is 9 min; allowed: 10 min to 1 d"),
        ("{access: 25h}", "access", "is 1 d 1 h; allowed: 10 min to 1 d"),
        ("{timeout: 0s}", "timeout", "is 0 s; allowed: more than 0 and at most 5 min"),
        ("{timeout: 6min}", "timeout", "is 6 min; allowed: more than 0 and at most 5 min"),
        ("{pending_after: 0s}", "pending_after", "is 0; no pod gets a node at once"),
        (
            "{workspace: {images: {notebok: x}}}",
            "workspace.images.notebok",
            "'notebok' is no workload class; did you mean 'notebook'?",
        ),
        (
            "{workspace: {images: {shell: x}}}",
            "workspace.images.shell",
            "'shell' is no workload class; allowed: training, fine-tuning, batch-inference, realtime-inference, "
            "notebook, experiment",
        ),
        (
            "{workspace: {memory: 32GB}}",
            "workspace.memory",
            "is '32GB'; allowed: an amount for Kubernetes such as 4, 500m or 32Gi",
        ),
        (
            "{workspace: {cpu: '0'}}",
            "workspace.cpu",
            "is '0'; allowed: an amount for Kubernetes such as 4, 500m or 32Gi",
        ),
        (
            "{node_selector: {pool: 'a b'}}",
            "node_selector.pool",
            "'pool: a b' is no label or taint; allowed: a key such as example.com/pool, and a value of letters, "
            "digits, '-', '_' and '.'",
        ),
    ],
)
def test_what_would_do_nothing_is_told(settings: str, key: str, message: str) -> None:
    (line,) = refusal(with_place(settings))
    assert line.endswith(f"places[0].kubernetes.{key}: {message}")


@pytest.mark.parametrize("name", ["cpu", "gpu", "requests.nvidia.com/gpu", "attachable.kubernetes.io/disk"])
def test_what_is_no_device_is_never_counted_as_one(name: str) -> None:
    (line,) = refusal(with_place(f"{{resources: {{{name}: L4}}}}"))
    assert f"'{name}' is no name under which pods ask for devices" in line


@pytest.mark.parametrize("more", ["markets: [spot]", "disks: {gib_month: 1}", "kms_key: alias/x", "account: '1'"])
def test_what_only_aws_has_is_told(more: str) -> None:
    key = more.partition(":")[0]
    found = refusal(with_place(more=f", {more}".replace("'1'", "'123456789012'")))
    assert [one.partition("places[0].")[2] for one in found] == [
        f"{key}: is of use only with provider: aws, not with kubernetes"
    ]
