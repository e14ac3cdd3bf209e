"""Temporal workflows: sequence only, the domain decides."""
