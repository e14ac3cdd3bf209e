"""Who asks: access keys, roles in several accounts, and who may assume which role.

Any access key that is not known belongs to lessor's own role in the home account. Keys made by
`administrator_key` may do everything in their account: they stand for the people who own it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.policy import AuthorizationRequest, PolicyDocument, is_allowed, trusts

HOME_ACCOUNT = "123456789012"
LESSOR_ACCESS_KEY = "AKIASANDBOXLESSOR000"
ROLE_NAME = "lessor"
_ADMINISTRATOR = "AKIAADMIN"


@dataclass(frozen=True)
class Role:
    """An IAM role: what it may do (`policies`) and who may become it (`trust`)."""

    arn: str
    policies: tuple[PolicyDocument, ...]
    trust: Mapping[str, Any] = field(default_factory=dict)

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]

    @property
    def name(self) -> str:
        return self.arn.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Caller:
    """The identity behind an access key; `policies` None means an administrator."""

    account: str
    arn: str
    role_arn: str
    policies: tuple[PolicyDocument, ...] | None


class Identities:
    """Roles and sessions. Policies are checked only while `enforced`."""

    def __init__(self) -> None:
        self.enforced = True
        self._home_policies: tuple[PolicyDocument, ...] = (PolicyDocument.read(shipped_file("lessor-policy.json")),)
        self.guard_rails: list[PolicyDocument] = []
        self._roles: dict[str, Role] = {}
        self._sessions: dict[str, Caller] = {}

    def accounts(self) -> set[str]:
        """The home account and those that were added."""
        return {HOME_ACCOUNT} | {role.account for role in self._roles.values()}

    def read_policies_again(self) -> None:
        """Take the shipped policies as they are now."""
        self.use_policy(shipped_file("lessor-policy.json"))
        member = (PolicyDocument.read(shipped_file("member-account-policy.json")),)
        self._roles = {arn: replace(role, policies=member) for arn, role in self._roles.items()}
        for key, caller in self._sessions.items():
            if caller.role_arn in self._roles:
                self._sessions[key] = replace(caller, policies=member)

    def use_policy(self, *paths: Path) -> None:
        """Lessor's role in the home account has these policies from now on."""
        self._home_policies = tuple(PolicyDocument.read(path) for path in paths)

    def add_account(self, account: str, external_id: str, role_name: str = ROLE_NAME) -> Role:
        """Another account as `deploy/aws` sets it up: its role has lessor's policy and trusts the home role."""
        text = shipped_file("member-account-trust-policy.json").read_text(encoding="utf-8")
        for name, value in (("LESSOR_ACCOUNT_ID", HOME_ACCOUNT), ("EXTERNAL_ID", external_id)):
            text = text.replace("${" + name + "}", value)
        policy = PolicyDocument.read(shipped_file("member-account-policy.json"))
        role = Role(f"arn:aws:iam::{account}:role/{role_name}", (policy,), json.loads(text))
        self._roles[role.arn] = role
        return role

    def caller(self, access_key: str) -> Caller:
        if access_key in self._sessions:
            return self._sessions[access_key]
        match = re.fullmatch(_ADMINISTRATOR + r"(\d{12})", access_key)
        if match:
            return Caller(match[1], f"arn:aws:iam::{match[1]}:user/administrator", "", None)
        return Caller(
            HOME_ACCOUNT,
            f"arn:aws:sts::{HOME_ACCOUNT}:assumed-role/{ROLE_NAME}/sandbox",
            f"arn:aws:iam::{HOME_ACCOUNT}:role/{ROLE_NAME}",
            self._home_policies,
        )

    def check_assume(self, caller: Caller, role_arn: str, external_id: str) -> None:
        """Raise `AccessDenied` unless the caller may and the role lets it (external id included)."""
        if caller.policies is None or not self.enforced:
            return
        context = {"sts:externalid": [external_id]} if external_id else {}
        role = self._roles.get(role_arn)
        allowed = is_allowed(caller.policies, AuthorizationRequest("sts:AssumeRole", role_arn, context))
        principals = (caller.role_arn, f"arn:aws:iam::{caller.account}:root")
        if role is None or not allowed or not trusts(role.trust, principals, context):
            raise AwsError(
                "AccessDenied",
                f"User: {caller.arn} is not authorized to perform: sts:AssumeRole on resource: {role_arn}",
                403,
            )

    def begin_session(self, access_key: str, caller: Caller, role_arn: str, session: str) -> None:
        """The keys that AssumeRole gave out act for this role from now on."""
        role = self._roles.get(role_arn)
        account, name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
        policies = role.policies if role else caller.policies
        self._sessions[access_key] = Caller(
            account, f"arn:aws:sts::{account}:assumed-role/{name}/{session}", role_arn, policies
        )

    def restricts(self, caller: Caller) -> bool:
        """Whether anything could be refused to the caller at present."""
        return caller.policies is not None and (self.enforced or bool(self.guard_rails))

    def check(self, caller: Caller, request: AuthorizationRequest) -> bool:
        """Whether the caller may. Guard rails hold even while lessor's own policy is not enforced."""
        if caller.policies is None:
            return True
        if any(rail.verdict(request) == "deny" for rail in self.guard_rails):
            return False
        return not self.enforced or is_allowed(caller.policies, request)


def administrator_key(account: str = HOME_ACCOUNT) -> str:
    """An access key that may do everything in `account`."""
    return f"{_ADMINISTRATOR}{account}"


def shipped_file(name: str) -> Path:
    """A file of `deploy/aws`, in a checkout or in an installed package."""
    package = Path(__file__).resolve().parents[2]
    places = (package / "deploy" / "aws" / name, package.parent / "deploy" / "aws" / name)
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(f"{name} is in none of {', '.join(str(place.parent) for place in places)}")
