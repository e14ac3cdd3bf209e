"""A workspace on one machine: look-alikes of the services lessor talks to, for tests, the demo and `lessor up`.

Nothing in here is part of what production runs; an import contract enforces it.
"""
