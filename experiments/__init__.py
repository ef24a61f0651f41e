"""The experiments of the UAI 2023 paper, and those on the guarantees: cells of work and who runs them."""
