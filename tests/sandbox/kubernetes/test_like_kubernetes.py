"""The simulated cluster answers as a real one: each scene is played in both, and every answer compared.

What is compared is what clients go by: the code, the reason and the words of refusals, and of objects their labels,
finalizers, and who manages their fields.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from kubernetes import client, config

from lessor.sandbox.kubernetes import RunningCluster, running_cluster
from lessor.sandbox.kubernetes.answering import answer
from lessor.sandbox.kubernetes.calls import Call
from tests.kube.fixtures import KubeHolder
from tests.sandbox.kubernetes import inside_scenes, table_scenes
from tests.sandbox.kubernetes.scenes import Step, scenes

Obj = dict[str, Any]
SCENES = scenes() | table_scenes.scenes() | inside_scenes.scenes()


@dataclass(frozen=True)
class Told:
    """One answer: its code and its JSON; text that is none is kept as it is."""

    code: int
    body: Any


Ask = Callable[[Step], Told]


@pytest.fixture(scope="module")
def real(kube_holder: KubeHolder) -> Iterator[Ask]:
    with config.new_client_from_config(str(kube_holder.ground().server.kubeconfig), persist_config=False) as api:
        yield lambda step: _of_real(api, step)


@pytest.fixture(scope="module")
def simulated() -> Iterator[Ask]:
    with running_cluster(stepping=False) as lab:
        yield lambda step: _of_simulated(lab, step)


@pytest.mark.parametrize("name", list(SCENES))
def test_both_answer_the_same(name: str, real: Ask, simulated: Ask) -> None:
    namespace = f"scene-{list(SCENES).index(name)}"
    answers = [_played(ask, namespace, SCENES[name]) for ask in (real, simulated)]
    assert answers[1] == answers[0]


def _played(ask: Ask, namespace: str, steps: list[Step]) -> list[Any]:
    ask(Step("POST", "api/v1/namespaces", {"metadata": {"name": namespace}}, settles=True))
    _await_account(ask, namespace)
    found = [_shown(_done(ask, _in(step, namespace)), namespace) for step in steps]
    ask(Step("DELETE", f"api/v1/namespaces/{namespace}"))
    return found


def _await_account(ask: Ask, namespace: str) -> None:
    """Pods are refused until the namespace has its account."""
    _until(lambda: ask(Step("GET", f"api/v1/namespaces/{namespace}/serviceaccounts/default")).code == 200)


def _in(step: Step, namespace: str) -> Step:
    body = json.loads(json.dumps(step.body).replace("{ns}", namespace))
    return replace(step, path=step.path.replace("{ns}", namespace), body=body)


def _done(ask: Ask, step: Step) -> Told:
    if step.refused:
        _until(lambda: ask(replace(step, path=f"{step.path}?dryRun=All")).code == 403)
    return ask(step)


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("not seen in time")


def _of_real(api: client.ApiClient, step: Step) -> Told:
    configuration = api.configuration
    headers = {"content-type": step.content, **_taking(step), **_authorization(configuration)}
    body = None if step.body is None else json.dumps(step.body)
    url = f"{configuration.host}/{step.path}"
    response = api.rest_client.pool_manager.request(step.method, url, body=body, headers=headers)
    told = _told(response.status, response.data.decode())
    if step.settles and told.code == 201 and told.body["kind"] in _SETTLED:
        return _settled(api, step, told)
    return told


_SETTLED: dict[str, Callable[[Obj], bool]] = {
    "ResourceQuota": lambda status: bool(status.get("hard")),
    "PersistentVolume": lambda status: status["phase"] != "Pending",
    "Job": lambda status: bool(status.get("conditions")),
}
"""What their controllers have to have seen before they count."""


def _settled(api: client.ApiClient, step: Step, made: Told) -> Told:
    look = Step("GET", f"{step.path}/{made.body['metadata']['name']}")
    _until(lambda: _SETTLED[made.body["kind"]](_of_real(api, look).body["status"]))
    return made


def _taking(step: Step) -> dict[str, str]:
    return {"accept": step.accept} if step.accept else {}


def _authorization(configuration: Any) -> dict[str, str]:
    held = configuration.get_api_key_with_prefix("BearerToken")
    return {"authorization": held} if held else {}


def _of_simulated(lab: RunningCluster, step: Step) -> Told:
    address = urlsplit(step.path)
    headers = {"content-type": step.content, "authorization": f"Bearer {lab.cluster.accounts.admin()}"} | _taking(step)
    body = b"" if step.body is None else json.dumps(step.body).encode()
    query = dict(parse_qsl(address.query))
    given = answer(lab.cluster, Call(step.method, f"/{address.path}", query, headers, body))
    lab.settle()
    return _told(given.code, json.dumps(given.body) if given.text is None else given.text)


def _told(code: int, text: str) -> Told:
    try:
        return Told(code, json.loads(text))
    except ValueError:
        return Told(code, text)


def _shown(told: Told, namespace: str) -> Any:
    body = told.body
    if not isinstance(body, dict):
        return told.code, body
    if body.get("kind") == "Status":
        return told.code, body.get("reason"), _worded(body.get("message", ""), namespace)
    if body.get("kind") == "Table":
        return told.code, _laid_out(body, namespace)
    meta = body.get("metadata", {})
    managed = meta.get("managedFields", ())
    named = {one["manager"]: one["fieldsV1"] for one in managed if one["operation"] == "Apply"}
    labels = {key: _worded(value, namespace) for key, value in (meta.get("labels") or {}).items()}
    status = body.get("status", {}) if body.get("kind") == "ResourceQuota" else {}
    return told.code, body.get("kind"), labels, meta.get("finalizers"), named, "deletionTimestamp" in meta, status


def _laid_out(table: Obj, namespace: str) -> Any:
    """Columns and cells. How old something is differs by the seconds in which it was asked for."""
    heads = [(one["name"], one["type"], one["format"], one["priority"]) for one in table["columnDefinitions"]]
    rows = [
        [_cell(head[0], cell, namespace) for head, cell in zip(heads, one["cells"], strict=True)]
        for one in table["rows"]
    ]
    carried = [(one.get("object") or {}).get("kind") for one in table["rows"]]
    return heads, rows, carried, [one.get("conditions") for one in table["rows"]]


def _cell(column: str, cell: Any, namespace: str) -> Any:
    if column in ("Age", "Created At", "Last Seen", "First Seen"):
        return bool(cell)
    return _worded(cell, namespace) if isinstance(cell, str) else cell


def _worded(message: str, namespace: str) -> str:
    """Without what differs from run to run, and without what the server prints of its own structures."""
    plain = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", "UID", message.replace(namespace, "NS"))
    return plain.partition("\n@@")[0].rstrip("]")
