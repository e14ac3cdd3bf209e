"""Says in people's words what pydantic found, with what is allowed and the nearest key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from lessor.config.problems import KeyPath, Problem
from lessor.config.reading import Document
from lessor.config.secrets import without_secrets

PATTERNS = {
    r"^[UW][A-Z0-9]{2,20}$": "a Slack member id such as U0AAA1111 (in Slack: Profile, More, Copy member ID)",
    r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$": "1 to 40 lower-case letters, digits and hyphens, such as research-us",
    r"^(team|project|person):\S+$": "team:KEY, project:KEY or person:ID, or * for each of them, such as team:*",
    r"^[A-Z]{3}$": "a currency code of three capital letters, such as USD or EUR",
    r"^[a-z]{2}(-[a-z]+)+-\d$": "a region such as us-east-1",
    r"^[a-z0-9-]+\.[a-z0-9-]+$": "an instance type such as g5.xlarge",
    r"^(\d{12})?$": "an account number of 12 digits",
    r"^(arn:aws[a-z-]*:iam::\d{12}:role/\S+)?$": "a role such as arn:aws:iam::123456789012:role/lessor",
    r"^([A-Z][A-Z0-9_]*)?$": "the name of an environment variable, such as LESSOR_EXTERNAL_ID",
    r"^subnet-[0-9a-f]+$": "a subnet id such as subnet-0a1b2c3d",
    r"^(sg-[0-9a-f]+)?$": "a security group id such as sg-0a1b2c3d",
    r"^(https://\S+)?$": "an address such as https://cluster.example.com:6443",
    r"^(/\S+)?$": "a parameter name that starts with /",
    r"^([A-Z][A-Z0-9_]*)$": "the name of an environment variable, such as LESSOR_SMTP_PASSWORD",
    r"^([a-zA-Z_:][a-zA-Z0-9_:]*)?$": "a metric's name, such as DCGM_FI_DEV_GPU_UTIL",
    r"^[a-zA-Z_][a-zA-Z0-9_]*$": "a label's name, such as instance_id",
    r"^[A-Za-z0-9-]+$": "a header's name, such as X-Scope-OrgID",
    r"^[ -~]*$": "plain text on one line",
    r"^[A-Za-z0-9.:-]+$": "a host's name or address, such as smtp.example.com",
}
TYPES = {
    "string_type": "text (numbers and true/false in quotes)",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "date_from_datetime_parsing": "a date such as 2026-11-01",
    "date_parsing": "a date such as 2026-11-01",
    "date_type": "a date such as 2026-11-01",
}
BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "decimal_max_digits": "at most {max_digits} digits",
}


def problems(error: ValidationError, document: Document, root: type[BaseModel]) -> Iterator[Problem]:
    """One problem for each of pydantic's errors, at the line where the value or its section stands."""
    for found in error.errors(include_url=False):
        if found["type"] == "too_short" and len(found["input"]) >= found["ctx"]["min_length"]:
            continue  # pydantic counts only the valid entries; the invalid ones have their own errors
        path: KeyPath = tuple(part for part in found["loc"] if part != "[key]")
        yield document.problem(path, without_secrets(_message(found, path, document, root)))


def nearest(word: str, known: list[str]) -> str:
    """`; did you mean 'x'?` when one of `known` is close to `word`, else nothing."""
    close = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def _message(found: Any, path: KeyPath, document: Document, root: type[BaseModel]) -> str:
    kind, context = found["type"], found.get("ctx", {})
    if kind == "extra_forbidden":
        keys = allowed_keys(root, path[:-1])
        return f"unknown key{nearest(str(path[-1]), keys)}; allowed here: {', '.join(keys)}"
    if kind == "missing":
        return "is missing; add it"
    if kind == "value_error":
        return str(context["error"])
    return f"{_given(found['input'])}; allowed: {_allowed(kind, context, found['msg'])}"


def _allowed(kind: str, context: dict[str, Any], fallback: str) -> str:
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(context["pattern"], f"text that matches {context['pattern']}")
    if kind in ("enum", "literal_error"):
        return str(context["expected"]).replace("'", "")
    if kind in BOUNDS:
        return BOUNDS[kind].format(**context)
    return TYPES.get(kind, fallback)


def _given(value: object) -> str:
    if value is None:
        return "is empty"
    if isinstance(value, bool):
        return f"is {str(value).lower()}"
    if isinstance(value, dict):
        return "has keys of its own"
    if isinstance(value, (list, tuple)):
        return f"is a list with {len(value)} entries"
    if isinstance(value, str):
        return f"is '{value[:60]}'" + (" ..." if len(value) > 60 else "")
    return f"is {value}"


def allowed_keys(root: type[BaseModel], path: KeyPath) -> list[str]:
    """The keys of the section at `path`."""
    here: Any = root
    for part in path:
        fields = here.model_fields if _is_model(here) else {}
        here = fields[part].annotation if part in fields else next(_models_in(here), here)
    model = here if _is_model(here) else next(_models_in(here), root)
    return [field.alias or name for name, field in model.model_fields.items()]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if _is_model(annotation):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
