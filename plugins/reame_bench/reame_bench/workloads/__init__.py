"""What is measured: one module a workload."""
