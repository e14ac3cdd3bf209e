"""GPUs that work or do not, as their owner on the page wants it, and the Prometheus that tells of them.

The machines are those that run in the AWS simulator. `python -m lessor.sandbox.gpus --aws URL --port N` answers the
queries that lessor's Prometheus source asks, and `/metrics` to a Prometheus of one's own; see `server` for the rest.
"""

from lessor.sandbox.gpus.client import GpusClient
from lessor.sandbox.gpus.doing import Answers, Doing, Use
from lessor.sandbox.gpus.machines import Machine
from lessor.sandbox.gpus.simulation import Simulation

__all__ = ["Answers", "Doing", "GpusClient", "Machine", "Simulation", "Use"]
