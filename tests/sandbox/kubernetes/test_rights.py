"""Who may what in the simulated cluster: only what the shipped role says, and nobody more than they have."""

from __future__ import annotations

from typing import Any

import pytest

from lessor.sandbox.kubernetes import RunningCluster
from lessor.sandbox.kubernetes.answering import answer
from lessor.sandbox.kubernetes.calls import Call
from tests.sandbox.kubernetes.objects import pod

GROUP = "rbac.authorization.k8s.io"
BINDINGS = f"/apis/{GROUP}/v1/namespaces/work/rolebindings"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture
def lessor(lab: RunningCluster) -> str:
    return lab.lessors_token()


def test_lessor_may_what_its_role_says_and_nothing_else(lab: RunningCluster, lessor: str) -> None:
    assert lab.ask("GET", "/api/v1/pods", token=lessor).code == 200
    refused = lab.ask("GET", "/api/v1/namespaces/work/secrets", token=lessor)
    assert (refused.code, refused.body["message"]) == (
        403,
        'secrets is forbidden: User "system:serviceaccount:lessor:lessor" cannot list resource "secrets" in API group '
        '"" in the namespace "work"',
    )
    assert lab.ask("PUT", "/api/v1/nodes/cpu-1", {}, token=lessor).code == 403


def test_the_cluster_says_itself_what_somebody_may(lab: RunningCluster, lessor: str) -> None:
    def may(**attributes: str) -> bool:
        review = {"spec": {"resourceAttributes": attributes}}
        return bool(lab.ask("POST", REVIEWS, review, token=lessor).body["status"]["allowed"])

    assert may(verb="list", resource="pods")
    assert may(verb="bind", group=GROUP, resource="clusterroles", name="edit")
    assert not may(verb="bind", group=GROUP, resource="clusterroles", name="cluster-admin")
    assert not may(verb="create", resource="pods")
    assert may(verb="create", resource="serviceaccounts", subresource="token")


def test_nobody_hands_out_what_they_have_not(lab: RunningCluster, lessor: str) -> None:
    assert lab.ask("POST", BINDINGS, _binding("edit"), token=lessor).code == 201
    refused = lab.ask("POST", BINDINGS, _binding("cluster-admin"), token=lessor)
    assert refused.code == 403
    assert "is attempting to grant RBAC permissions not currently held" in refused.body["message"]


def test_a_binding_lets_its_subject_into_one_namespace(lab: RunningCluster) -> None:
    lab.create("RoleBinding", _binding("edit"), "work")
    somebody = lab.cluster.accounts.person("a@x.test")
    assert lab.ask("POST", "/api/v1/namespaces/work/pods", pod("a"), token=somebody).code == 201
    assert lab.ask("GET", "/api/v1/namespaces/default/pods", token=somebody).code == 403
    assert lab.ask("GET", "/api/v1/namespaces/work", token=somebody).code == 200
    assert lab.ask("DELETE", "/api/v1/namespaces/work", token=somebody).code == 403


def test_a_token_ends_by_its_time_with_its_account_and_by_a_switch(lab: RunningCluster) -> None:
    path = "/api/v1/namespaces/work/serviceaccounts/default/token"
    given = lab.ask("POST", path, {"spec": {"expirationSeconds": 600}}).body["status"]
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    known = lab.ask("POST", who, {}, token=given["token"])
    assert known.body["status"]["userInfo"]["username"] == "system:serviceaccount:work:default"
    lab.advance(seconds=601)
    assert lab.ask("POST", who, {}, token=given["token"]).code == 401
    again = lab.ask("POST", path, {"spec": {"expirationSeconds": 600}}).body["status"]["token"]
    lab.delete("ServiceAccount", "default", "work")
    assert lab.ask("POST", who, {}, token=again).code == 401
    lessor = lab.lessors_token()
    lab.expire_tokens()
    assert lab.ask("GET", "/api/v1/pods", token=lessor).code == 401


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer none", "Bearer a.b.c"])
def test_strangers_are_told_nothing(lab: RunningCluster, header: str) -> None:
    given = answer(lab.cluster, Call("GET", "/api/v1/pods", headers={"authorization": header}))
    assert (given.code, given.body["reason"]) == (401, "Unauthorized")


def _binding(role: str) -> dict[str, Any]:
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    subjects = [{"kind": "User", "name": "a@x.test", "apiGroup": GROUP}]
    return {"metadata": {"name": f"to-{role}"}, "roleRef": reference, "subjects": subjects}
