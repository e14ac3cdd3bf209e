"""Pools of the organisation's own machines."""
