"""What a tag may be. Lengths, the reserved prefix and the count are EC2's own limits.

EC2 itself accepts any character; the set below is the one that all AWS services share ("Tag your Amazon EC2
resources", Amazon EC2 User Guide). It is checked by default, since a tag that only EC2 understands is lost to
billing and to policies; `strict_characters=False` behaves like bare EC2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lessor.sandbox.aws.errors import AwsError

MOST_TAGS = 50
_ALLOWED = re.compile(r"[\w\s+\-=.:/@]*", re.UNICODE)


def check_tags(tags: Mapping[str, str], *, strict_characters: bool) -> None:
    """Raise as EC2 does when a key or a value may not be."""
    if len(tags) > MOST_TAGS:
        raise too_many_tags()
    for key, value in tags.items():
        if key.lower().startswith("aws:"):
            raise _invalid(key, "key", "Tag keys starting with 'aws:' are reserved for internal use")
        if not 1 <= len(key) <= 128:
            raise _invalid(key, "key", "Tag keys must be between 1 and 128 characters long")
        if len(value) > 256:
            raise _invalid(value, "value", "Tag value exceeds the maximum length of 256 characters")
        if strict_characters:
            _check_characters(key, "key")
            _check_characters(value, "value")


def too_many_tags() -> AwsError:
    return AwsError("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")


def _check_characters(text: str, what: str) -> None:
    if not _ALLOWED.fullmatch(text) or re.search(r"[\n\r\t\v\f]", text):
        raise _invalid(text, what, "Tags may contain letters, digits, spaces and + - = . _ : / @ only")


def _invalid(value: str, what: str, why: str) -> AwsError:
    return AwsError("InvalidParameterValue", f"Value ( {value} ) for parameter {what} is invalid. {why}")
