"""Client tokens: the same request twice has one effect, another request under the same token is refused.

Source: Amazon EC2 Developer Guide, "Ensuring idempotency in Amazon EC2 API requests". RunInstances is idempotent per
zone when a zone or subnet is named and per region otherwise. A refused launch binds its token too: falling back to
another type under the token of the first is a mismatch (seen in the field, ubicloud/ubicloud#5898).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from lessor.sandbox.aws.errors import AwsError

MAXIMUM_LENGTH = 64
_NOT_PART_OF_THE_REQUEST = ("ClientToken", "DryRun", "Placement")


@dataclass
class _Use:
    fingerprint: str
    result: Any = None


class TokenBook:
    """Every token that was used, under its scope `(account, region, action, zone or "")`."""

    def __init__(self) -> None:
        self._uses: dict[tuple[str, ...], _Use] = {}

    def recall(self, token: str, scope: tuple[str, ...], parameters: dict[str, Any]) -> Any:
        """What the first use gave, None when the token is new or its first use was refused.

        Binds the token to `parameters`; raises `IdempotentParameterMismatch` when it is bound to others.
        """
        check_token(token)
        print_ = fingerprint(parameters)
        use = self._uses.setdefault((*scope, token), _Use(print_))
        if use.fingerprint != print_:
            raise AwsError(
                "IdempotentParameterMismatch",
                "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
            )
        return use.result

    def remember(self, token: str, scope: tuple[str, ...], result: Any) -> None:
        self._uses[(*scope, token)].result = result


def check_token(token: str) -> None:
    if len(token) > MAXIMUM_LENGTH or not token.isascii():
        raise AwsError(
            "InvalidParameterValue",
            f"Value ({token}) for parameter clientToken is invalid. "
            f"Client tokens are at most {MAXIMUM_LENGTH} ASCII characters.",
        )


def fingerprint(parameters: dict[str, Any]) -> str:
    """A canonical text of the parameters, apart from token and zone. The rest of Placement counts."""
    kept = {key: value for key, value in parameters.items() if key not in _NOT_PART_OF_THE_REQUEST}
    placement = {k: v for k, v in (parameters.get("Placement") or {}).items() if not k.startswith("AvailabilityZone")}
    return json.dumps({**kept, "Placement": placement}, sort_keys=True, default=str)
