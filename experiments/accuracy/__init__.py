"""How often our classifiers err beside others."""
