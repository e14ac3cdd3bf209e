"""Which fields an object may have and of what type, as the official client knows the built-in kinds.

Kinds of add-ons take any field, as custom resources without a strict schema do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from lessor.sandbox.kubernetes.kinds import Kind
from lessor.sandbox.kubernetes.quantities import amount

Obj = dict[str, Any]
_NAMES = {"Event": "CoreV1Event"}
_LIST = re.compile(r"^[Ll]ist\[(.+)\]$")
_MAP = re.compile(r"^[Dd]ict[(\[]str, (.+)[)\]]$")
_PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "bool": (bool,), "float": (int, float), "datetime": (str,), "date": (str,),
}  # fmt: skip
_QUANTIFIED = {
    "V1ResourceRequirements": {"limits", "requests"}, "V1VolumeResourceRequirements": {"limits", "requests"},
    "V1ResourceQuotaSpec": {"hard"}, "V1PersistentVolumeSpec": {"capacity"},
    "V1LimitRangeItem": {"default", "defaultRequest", "max", "min"}, "V1NodeStatus": {"allocatable", "capacity"},
}  # fmt: skip
_GO = {"str": "string", "int": "int32", "bool": "bool", "float": "float64", "datetime": "time.Time", "date": "string"}


class WrongTypeError(ValueError):
    """A field has a value of a type that it cannot have."""


def known(kind: Kind, obj: Obj) -> tuple[Obj, list[str]]:
    """The object without fields that its kind does not have, and the paths of those. Raises `WrongTypeError`."""
    if kind.extension:
        return obj, []
    unknown: list[str] = []
    return _pruned(obj, _NAMES.get(kind.kind, f"V1{kind.kind}"), "", unknown), unknown


def _pruned(value: Any, type_: str, path: str, unknown: list[str]) -> Any:
    if value is None or type_ == "object":
        return value
    if found := _LIST.match(type_):
        if not isinstance(value, list):
            raise WrongTypeError(f"json: cannot unmarshal {_go(value)} into Go struct field {path} of type []")
        return [_pruned(one, found[1], f"{path}[{index}]", unknown) for index, one in enumerate(value)]
    if found := _MAP.match(type_):
        if not isinstance(value, dict):
            raise WrongTypeError(f"json: cannot unmarshal {_go(value)} into Go struct field {path} of type map")
        return {name: _pruned(one, found[1], f"{path}.{name}", unknown) for name, one in value.items()}
    if type_ in _PLAIN:
        if not isinstance(value, _PLAIN[type_]) or (isinstance(value, bool) and type_ != "bool"):
            raise WrongTypeError(
                f"json: cannot unmarshal {_go(value)} into Go struct field {path} of type {_GO[type_]}"
            )
        return value
    return _of_model(value, type_, path, unknown)


def _of_model(value: Any, type_: str, path: str, unknown: list[str]) -> Any:
    fields = _fields(type_)
    if fields is None:
        return value
    if not isinstance(value, dict):
        raise WrongTypeError(f"json: cannot unmarshal {_go(value)} into Go struct field {path} of type {type_}")
    if type_ in _QUANTIFIED:
        value = value | {name: _quantities(value[name]) for name in _QUANTIFIED[type_] & set(value)}
    kept = {}
    for name, one in value.items():
        where = f"{path}.{name}" if path else name
        if name in fields:
            kept[name] = _pruned(one, fields[name], where, unknown)
        else:
            unknown.append(where)
    return kept


def _quantities(value: Any) -> Any:
    """Quantities as text: a number means the same and is kept as text. Raises `WrongTypeError`."""
    if not isinstance(value, dict):
        return value
    return {name: _quantity(one) for name, one in value.items()}


def _quantity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        amount(value)
    except ValueError as unreadable:
        raise WrongTypeError(str(unreadable)) from unreadable
    return str(value)


@cache
def _fields(type_: str) -> dict[str, str] | None:
    """Types by the JSON names of a model's fields; nothing for types that are plain values on the wire."""
    from kubernetes.client import models

    model = getattr(models, type_, None)
    if model is None or type_ == "V1FieldsV1":
        return None
    return {model.attribute_map[name]: of for name, of in model.openapi_types.items()}


def _go(value: Any) -> str:
    kinds: Iterator[tuple[type, str]] = iter(
        ((bool, "bool"), (str, "string"), (int, "number"), (float, "number"), (list, "array"), (dict, "object"))
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
