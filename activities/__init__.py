"""Activities touch the world through ports: thin, idempotent, methods on classes that hold what they need."""
