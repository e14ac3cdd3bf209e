"""Loads `lessor.yaml` and finds everything that is wrong with it at once."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from lessor.config.checks import check
from lessor.config.configuration import Config
from lessor.config.problems import ConfigError, Problem
from lessor.config.reading import Document, parse, read
from lessor.config.wording import problems


def load(path: str | Path) -> Config:
    """The configuration in the file at `path`. Raises `ConfigError` with every problem that was found."""
    return _configuration(read(Path(path)))


def loads(text: str, file: str = "lessor.yaml") -> Config:
    """The configuration in `text`, as `load`."""
    return _configuration(parse(text, file))


def _configuration(document: Document) -> Config:
    try:
        config = Config.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        found = [*document.problems, *problems(error, document, Config)]
        raise ConfigError(document.file, found) from None
    config._document = document
    found = [*document.problems, *(document.problem(path, message) for path, message in check(config))]
    found += _condition_problems(config)
    if found:
        raise ConfigError(document.file, found)
    return config


def _condition_problems(config: Config) -> list[Problem]:
    # The parser of conditions is slow to import, so it is imported only when there is something to parse.
    from lessor.policyfile.compiling import condition_problems

    return list(condition_problems(config))
