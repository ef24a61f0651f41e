"""The problem that is solved, frozen; its objective, the rule that a solution defines, and certificates."""
