"""One AWS API call as it arrives: which service, which action, in whose name, where."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request")


@dataclass(frozen=True)
class ApiCall:
    """A call before anything is decided about it; `service` is the signing name (`ec2`, `sts`, `ssm`, ...)."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    service: str
    region: str
    access_key: str

    @classmethod
    def parse(cls, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> ApiCall:
        """Read service, region and access key from the SigV4 header; unsigned calls belong to service ``""``."""
        lowered = {name.lower(): value for name, value in headers.items()}
        match = _CREDENTIAL.search(lowered.get("authorization", ""))
        access_key, region, service = (match[1], match[3], match[4]) if match else ("", "us-east-1", "")
        return cls(method, path, query, lowered, body, service, region, access_key)

    @cached_property
    def action(self) -> str:
        """`RunInstances`, `GetParameter`, ...; the HTTP method and path when the protocol has no action name."""
        target = self.headers.get("x-amz-target", "")
        return target.rsplit(".", 1)[-1] or self.parameters.get("Action", "") or f"{self.method} {self.path}"

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The flat parameters of the query protocol, as sent (`InstanceId.1`, ...)."""
        if "x-amz-target" in self.headers:
            return {}
        pairs = parse_qsl(self.query, keep_blank_values=True)
        if "x-www-form-urlencoded" in self.headers.get("content-type", ""):
            pairs += parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True)
        return dict(pairs)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The body of a JSON protocol call; empty when there is none or it is not an object."""
        try:
            document = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}

    def with_document(self, document: dict[str, Any]) -> ApiCall:
        """The same call with another JSON body."""
        return replace(self, body=json.dumps(document).encode())
