"""Kubernetes clusters: leases that are namespaces with a quota, or one workload with a volume."""
