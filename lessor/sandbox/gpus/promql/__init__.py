"""The part of Prometheus' query language that one needs to ask what GPUs do, with Prometheus' own meaning."""

from lessor.sandbox.gpus.promql.errors import QueryError
from lessor.sandbox.gpus.promql.evaluating import evaluate
from lessor.sandbox.gpus.promql.parsing import parse
from lessor.sandbox.gpus.promql.series import Database
from lessor.sandbox.gpus.promql.vectors import Sample

__all__ = ["Database", "QueryError", "Sample", "evaluate", "parse"]
