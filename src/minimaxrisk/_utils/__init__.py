"""What every room uses and none owns: array types, atomic files, processes, threads, warnings, versions."""
