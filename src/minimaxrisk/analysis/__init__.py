"""Questions that take many fits: the path over radii, permuted labels, cross-validation."""
