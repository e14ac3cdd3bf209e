"""The dashboard and the REST API: what is on record, to look at and to read by programs. Nothing can be changed here.

Both use the gateway and nothing else, as the bot and the command line do.
"""

from lessor.web.app import make_application
from lessor.web.desk import Desk, Scene

__all__ = ["Desk", "Scene", "make_application"]
