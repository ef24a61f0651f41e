"""From a point near the optimum to an exact vertex, by linear systems and a few pivots."""
