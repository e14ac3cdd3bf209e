"""Limits as `lessor.yaml` has them, made into the ceilings that the domain counts with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from lessor.catalog import Catalogue, load_catalogue
from lessor.config.limits import CohortConfig, LimitConfig
from lessor.config.problems import KeyPath
from lessor.config.section import KEY
from lessor.config.wording import nearest
from lessor.domain.quota import EVERY, Ceiling, Cohort, Kind, QuotaPlan

if TYPE_CHECKING:
    from lessor.config.configuration import Config

ALL_MODELS = "all"
"""The key under a team's quotas that counts GPUs of all models together."""

Found = Iterator[tuple[KeyPath, str]]


def quota_plan(config: Config) -> QuotaPlan:
    """Everything that the organisation's limits, quotas and cohorts say."""
    organisation = config.organisation
    return QuotaPlan(
        ceilings=tuple(ceiling for _, ceiling in _ceilings(config)),
        cohorts=tuple(Cohort(name, one.teams, one.borrow) for name, one in organisation.cohorts.items()),
        currency=organisation.currency,
        tz=organisation.tz,
        thresholds=tuple(sorted(set(organisation.alerts))),
        people=config.primary_ids,
    )


def check_limits(config: Config) -> Found:
    """Unknown teams, people and models; what is limited twice; cohorts whose teams have nothing to lend."""
    catalogue = load_catalogue() if config.organisation.quotas or config.organisation.limits else None
    for team, ceilings in config.organisation.quotas.items():
        path: KeyPath = ("organisation", "quotas", team)
        yield from _team(config, team, path)
        for model in ceilings:
            if model != ALL_MODELS:
                yield from _model(catalogue, model, (*path, model), f"{ALL_MODELS}, ")
    for index, limit in enumerate(config.organisation.limits):
        here: KeyPath = ("organisation", "limits", index)
        yield from _scope(config, limit.scope, (*here, "scope"))
        if limit.model:
            yield from _model(catalogue, limit.model, (*here, "model"), "")
    yield from _twice(config)
    for name, cohort in config.organisation.cohorts.items():
        yield from _cohort(config, name, cohort)


def _ceilings(config: Config) -> Iterator[tuple[KeyPath, Ceiling]]:
    for team, quotas in config.organisation.quotas.items():
        for model, gpus in quotas.items():
            named = "" if model == ALL_MODELS else model
            yield ("organisation", "quotas", team, model), Ceiling(f"team:{team}", Decimal(gpus), model=named)
    for index, limit in enumerate(config.organisation.limits):
        yield ("organisation", "limits", index), _ceiling(config, limit)


def _ceiling(config: Config, limit: LimitConfig) -> Ceiling:
    kind, _, key = limit.scope.partition(":")
    scope = f"person:{config.person_id(key) or key}" if kind == "person" and key != EVERY else limit.scope
    if limit.gpus is not None:
        return Ceiling(scope, Decimal(limit.gpus), Kind.GPUS, limit.model, limit.hard)
    if limit.gpu_hours is not None:
        return Ceiling(scope, Decimal(limit.gpu_hours), Kind.GPU_HOURS, limit.model, limit.hard)
    return Ceiling(scope, limit.money or Decimal(0), Kind.MONEY, limit.model, limit.hard, then=limit.follows)


def _scope(config: Config, scope: str, path: KeyPath) -> Found:
    kind, _, key = scope.partition(":")
    if key == EVERY:
        return
    if kind == "team":
        yield from _team(config, key, path)
    elif kind == "person" and config.person_id(key) is None:
        yield path, f"nobody is '{key}'{nearest(key, list(config.primary_ids))}; add them to organisation.people"
    elif kind == "project" and not re.fullmatch(KEY, key):
        yield path, f"'{key}' is no project; allowed: 1 to 40 lower-case letters, digits and hyphens"


def _team(config: Config, team: str, path: KeyPath) -> Found:
    teams = list(config.organisation.teams)
    if team not in teams:
        yield path, f"there is no team '{team}'{nearest(team, teams)}; teams: {', '.join(teams)}"


def _model(catalogue: Catalogue | None, model: str, path: KeyPath, others: str) -> Found:
    if catalogue and not catalogue.model(model):
        meant = catalogue.canonical(model)
        names = ", ".join(one.name for one in catalogue.models())
        hint = f"; write '{meant}'" if meant else f"; allowed: {others}{names}"
        yield path, f"'{model}' is no GPU model of the catalogue{hint}"


def _twice(config: Config) -> Found:
    first: dict[tuple[str, Kind, str, bool], KeyPath] = {}
    for path, one in _ceilings(config):
        before = first.setdefault((one.scope, one.kind, one.model, one.hard), path)
        if before != path:
            what = f"{one.kind.value} of {one.scope}{f' for {one.model}' if one.model else ''}"
            yield path, f"limits {what} a second time, first on line {config.line(before)}; keep one of them"


def _cohort(config: Config, name: str, cohort: CohortConfig) -> Found:
    path: KeyPath = ("organisation", "cohorts", name)
    plan = quota_plan(config)
    for index, team in enumerate(cohort.teams):
        here = (*path, "teams", index)
        if team not in config.organisation.teams:
            yield from _team(config, team, here)
            continue
        other = next((o for o, one in config.organisation.cohorts.items() if o != name and team in one.teams), None)
        if other is not None or team in cohort.teams[:index]:
            yield here, f"'{team}' is in {f'cohort {other}' if other else 'it twice'}; a team lends in one cohort only"
        elif not plan.lends(team):
            yield here, f"'{team}' has no hard limit of GPUs at once, so that nobody knows what it has to lend"
    for team in cohort.borrow:
        if team not in cohort.teams:
            yield (*path, "borrow", team), f"'{team}' is not among the teams of this cohort: {', '.join(cohort.teams)}"
