"""Who is who: the tokens of people and of service accounts, with their ends."""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.sandbox.kubernetes.clock import Clock, stamp
from lessor.sandbox.kubernetes.errors import invalid, unauthorized, wrong
from lessor.sandbox.kubernetes.kinds import Kind, kind
from lessor.sandbox.kubernetes.rbac import EVERYBODY, MASTERS
from lessor.sandbox.kubernetes.registry import User
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
ADMIN = User("kubernetes-admin", (MASTERS, EVERYBODY))
LEAST, MOST = timedelta(minutes=10), timedelta(hours=24)
"""A server gives no token for less; what is more than its limit is cut to that."""


@dataclass
class Accounts:
    """Tokens are signed with a key of this cluster. Those issued before `not_before` have expired, by a switch."""

    store: Store
    clock: Clock
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    not_before: datetime | None = None

    def admin(self) -> str:
        """The token of an administrator, who may everything."""
        return self._signed({"sub": ADMIN.name, "admin": True})

    def person(self, name: str, groups: tuple[str, ...] = ()) -> str:
        """The token of a person of that user name, who may what bindings say."""
        return self._signed({"sub": name, "groups": list(groups)})

    def issue(self, account: Obj, seconds: int) -> tuple[str, datetime]:
        """A token of a service account and its end."""
        meta, now = account["metadata"], self.clock.now()
        length = max(min(timedelta(seconds=seconds), MOST), LEAST)
        ends = now + length
        subject = f"system:serviceaccount:{meta['namespace']}:{meta['name']}"
        claims = {"sub": subject, "uid": meta["uid"], "iat": now.timestamp(), "exp": ends.timestamp()}
        return self._signed(claims), ends

    def request(self, what: Kind, account: Obj, review: Obj) -> Obj:
        """Answer a TokenRequest. Raises `Refused` (422) for one that is too short."""
        spec = review.get("spec") or {}
        seconds = spec.get("expirationSeconds", 3600)
        if seconds < LEAST.total_seconds():
            cause = wrong("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
            token = Kind("TokenRequest", "tokenrequests", "authentication.k8s.io")
            raise invalid(token, "", [cause])
        token_, ends = self.issue(account, seconds)
        meta = {"name": account["metadata"]["name"], "namespace": account["metadata"]["namespace"]}
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": meta | {"creationTimestamp": self.clock.stamp()},
            "spec": {"audiences": spec.get("audiences") or ["https://kubernetes.default.svc"],
                     "expirationSeconds": int((ends - self.clock.now()).total_seconds()), "boundObjectRef": None},
            "status": {"token": token_, "expirationTimestamp": stamp(ends)},
        }  # fmt: skip

    def known(self, header: str) -> User:
        """Whose token it is. Raises `Refused` (401) for one that is none, has ended or whose account is gone."""
        scheme, _, token = header.partition(" ")
        claims = self._read(token) if scheme.lower() == "bearer" else None
        if claims is None:
            raise unauthorized()
        if claims.get("admin"):
            return ADMIN
        if "uid" not in claims:
            return User(claims["sub"], (*claims.get("groups", ()), EVERYBODY))
        self._check_time(claims)
        _, _, namespace, name = claims["sub"].split(":")
        account = self.store.get(kind("ServiceAccount"), namespace, name)
        if account is None or account["metadata"]["uid"] != claims["uid"]:
            raise unauthorized()
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", EVERYBODY)
        return User(claims["sub"], groups)

    def expire(self) -> None:
        """From now on every token of a service account that was issued so far is refused."""
        self.not_before = self.clock.now()

    def _check_time(self, claims: Obj) -> None:
        if claims["exp"] <= self.clock.now().timestamp():
            raise unauthorized()
        if self.not_before and claims["iat"] <= self.not_before.timestamp():
            raise unauthorized()

    def _signed(self, claims: Obj) -> str:
        head, body = _encoded({"alg": "HS256", "typ": "JWT"}), _encoded(claims)
        return f"{head}.{body}.{self._signature(head, body)}"

    def _read(self, token: str) -> Obj | None:
        parts = token.split(".")
        if len(parts) != 3 or not hmac.compare_digest(parts[2], self._signature(parts[0], parts[1])):
            return None
        claims: Obj = json.loads(base64.urlsafe_b64decode(parts[1] + "=="))
        return claims

    def _signature(self, head: str, body: str) -> str:
        digest = hmac.digest(self.key.encode(), f"{head}.{body}".encode(), "sha256")
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _encoded(document: Obj) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()
