"""What every room uses and none owns: array types, processes, threads, warnings, versions."""
