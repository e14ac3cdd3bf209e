"""Benchmarks: lessor beside its floors (bare Temporal, bare Bolt), measured in one run. See docs/benchmarks.md."""
