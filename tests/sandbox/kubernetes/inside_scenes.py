"""Logs of pods and ways into them, as far as a server without kubelets answers, for both to be held to each other."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kubernetes.objects import pod
from tests.sandbox.kubernetes.scenes import Step
from tests.sandbox.kubernetes.table_scenes import NEVER

PODS = "api/v1/namespaces/{ns}/pods"


def scenes() -> dict[str, list[Step]]:
    """Each begins with an empty namespace."""
    two: dict[str, Any] = pod("two", **NEVER)
    two["spec"]["containers"].append({"name": "beside", "image": "x"})
    two["spec"]["initContainers"] = [{"name": "first", "image": "x"}]
    return {
        "what is asked of the inside of pods": [
            Step("POST", PODS, pod("one", **NEVER)),
            Step("POST", PODS, two),
            Step("GET", f"{PODS}/none/log"),
            Step("GET", f"{PODS}/one/log"),
            Step("GET", f"{PODS}/one/log?container=other"),
            Step("GET", f"{PODS}/two/log"),
            Step("GET", f"{PODS}/two/log?container=beside"),
            Step("GET", f"{PODS}/none/exec?command=ls&stdout=true"),
            Step("GET", f"{PODS}/one/exec?command=ls&stdout=true"),
            Step("POST", f"{PODS}/one/exec?command=ls&stdout=true"),
            Step("GET", f"{PODS}/one/exec?command=ls&stdout=true&container=other"),
            Step("GET", f"{PODS}/two/exec?command=ls&stdout=true"),
            Step("GET", f"{PODS}/one/portforward?ports=8888"),
            Step("DELETE", f"{PODS}/one/exec"),
            Step("GET", "api/v1/namespaces/{ns}/services/one/log"),
        ],
    }
