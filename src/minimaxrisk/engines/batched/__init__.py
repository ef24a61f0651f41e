"""Many small problems on the same data: one loop for all, which shares what they have in common."""
