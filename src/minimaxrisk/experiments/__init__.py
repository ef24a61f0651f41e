"""The experiments of the UAI 2023 paper: cells of work, the processes that run them, the printed numbers."""
