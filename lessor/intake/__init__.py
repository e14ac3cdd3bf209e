"""Typed requests: `2 x a100 80gb for 8h training "fine-tune the ranking model" team:research in research-us`."""

from lessor.intake.caps import read_cap
from lessor.intake.draft import Draft
from lessor.intake.reading import parse_request_text

__all__ = ["Draft", "parse_request_text", "read_cap"]
