"""A simulated AWS for the sandbox and the tests: moto, behind what moto hides.

moto answers as an AWS that never refuses, never forgets and never lies; the failures that cost people money
are exactly the ones it leaves out. This package adds them, each with AWS's own error codes, and gives tests
and the sandbox page one set of switches for them. Nothing that production runs may import it.

`running_aws_simulator()` (in `server`) runs it in a test; `python -m lessor.sandbox.aws --port N` on its own.
"""
