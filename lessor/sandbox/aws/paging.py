"""Pages of describe answers, including the short and empty ones that still have a next token."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeVar

from lessor.sandbox.aws.errors import AwsError

Item = TypeVar("Item")

DEFAULT_PAGE = 1000
_SMALLEST = {
    "DescribeInstances": 5,
    "DescribeVolumes": 5,
    "DescribeSnapshots": 5,
    "DescribeTags": 5,
    "DescribeNetworkInterfaces": 5,
}
_LARGEST = {"DescribeInstanceTypes": 100}


class PagePlan:
    """Planned page sizes by action, for instance `{"DescribeInstances": [1000, 0, 1500]}`."""

    def __init__(self) -> None:
        self.sizes: dict[str, list[int]] = {}

    def cut(
        self, action: str, items: Sequence[Item], size: int | None, token: str | None
    ) -> tuple[list[Item], str | None]:
        """The page that `token` points to (the first without one) and the token of the next page.

        Where sizes are planned, page n has the n-th size whatever the caller asked, and a next token follows every
        page but the last planned one that reaches the end; after the planned pages the caller's size counts again.
        """
        number, start = _read_token(token)
        check_size(action, size)
        planned = self.sizes.get(action, [])
        wanted = planned[number] if number < len(planned) else size or DEFAULT_PAGE
        end = start + wanted
        more = end < len(items) or number + 1 < len(planned)
        return list(items[start:end]), _write_token(number + 1, end) if more else None


def check_size(action: str, size: int | None) -> None:
    smallest, largest = _SMALLEST.get(action, 1), _LARGEST.get(action, DEFAULT_PAGE)
    if size is not None and not smallest <= size <= largest:
        bound = f"greater than {smallest}" if size < smallest else f"less than {largest}"
        raise AwsError(
            "InvalidParameterValue", f"Value ( {size} ) for parameter maxResults is invalid. Expecting a value {bound}."
        )


def _write_token(number: int, start: int) -> str:
    return base64.urlsafe_b64encode(f"page:{number}:{start}".encode()).decode()


def _read_token(token: str | None) -> tuple[int, int]:
    if not token:
        return 0, 0
    try:
        word, number, start = base64.urlsafe_b64decode(token.encode()).decode().split(":")
        if word != "page":
            raise ValueError(word)
        return int(number), int(start)
    except ValueError as error:
        raise AwsError("InvalidParameterValue", "Unable to parse pagination token") from error
