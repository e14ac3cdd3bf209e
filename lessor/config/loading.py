"""Loads `lessor.yaml` and finds everything that is wrong with it at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lessor.config.checks import check
from lessor.config.configuration import Config
from lessor.config.problems import ConfigError, Problem
from lessor.config.pruning import contradictions
from lessor.config.reading import Document, decoded, parse, read
from lessor.config.wording import problems


def load(path: str | Path) -> Config:
    """The configuration in the file at `path`. Raises `ConfigError` with every problem that was found."""
    return _configuration(read(Path(path)))


def load_named(path: Path, option: str) -> Config:
    """As `load`, of a file that an option names: what it says has nothing to do with the configuration in force."""
    return _configuration(read(path, f"give {option} the path of a file laid out like lessor.yaml"))


def load_bytes(raw: bytes, file: str) -> Config:
    """The configuration in the content of a file, as `load`."""
    return _configuration(parse(decoded(raw, file), file))


def loads(text: str, file: str = "lessor.yaml") -> Config:
    """The configuration in `text`, as `load`."""
    return _configuration(parse(text, file))


def _configuration(document: Document) -> Config:
    found = [*document.problems, *_condition_problems(document)]
    try:
        config = Config.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        found += [*problems(error, document, Config), *contradictions(document, error)]
        raise ConfigError(document.file, found) from None
    config._document = document
    found += [document.problem(path, message) for path, message in check(config)]
    if found:
        raise ConfigError(document.file, found)
    return config


def _condition_problems(document: Document) -> list[Problem]:
    """What is wrong with conditions, also where the rest of the document has no valid form."""
    found: list[Problem] = []
    for section in ("policy", "idle"):
        conditions = _conditions(document.data, section)
        if conditions:
            # The parser of conditions is slow to import, so it is imported only when there is something to parse.
            from lessor.policyfile.compiling import condition_problems

            found += condition_problems(conditions, document, (section, "rules"))
    return found


def _conditions(data: Any, section: str) -> dict[int, str]:
    """The conditions of a section's rules by their index."""
    held = data.get(section) if isinstance(data, dict) else None
    rules = held.get("rules") if isinstance(held, dict) else None
    return {
        index: rule["when"]
        for index, rule in enumerate(rules if isinstance(rules, list) else ())
        if isinstance(rule, dict) and isinstance(rule.get("when"), str) and rule["when"]
    }
