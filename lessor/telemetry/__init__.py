"""Where it is read what GPUs and machines do: Prometheus and CloudWatch. What has no answer is unknown, never zero."""

from lessor.telemetry.asking import Credentials
from lessor.telemetry.cloudwatch import CloudWatchSource
from lessor.telemetry.prometheus import PrometheusSource
from lessor.telemetry.promql import LabelNames, Metrics

__all__ = ["CloudWatchSource", "Credentials", "LabelNames", "Metrics", "PrometheusSource"]
