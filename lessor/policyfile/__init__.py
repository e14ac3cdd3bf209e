"""Policy as code: rules of `lessor.yaml` with conditions in CEL, compiled once, asked for each request."""

from lessor.policyfile.compiling import CompiledPolicy, compile_policy
from lessor.policyfile.facts import Facts
from lessor.policyfile.gathering import facts

__all__ = ["CompiledPolicy", "Facts", "compile_policy", "facts"]
