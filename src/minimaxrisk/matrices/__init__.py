"""The training matrix in whatever form it has, and its columns on the scale that solvers work with."""
