"""What may be claimed of a fitted model: its certificate recomputed, its error bounded."""
