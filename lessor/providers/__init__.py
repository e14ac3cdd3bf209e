"""Adapters to the places where GPUs run. Each implements `lessor.ports.Provider`; one contract suite tests them all."""
