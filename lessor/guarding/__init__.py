"""The guard: the second enforcer of ends, which works while Temporal, Slack and the ledger are down."""
