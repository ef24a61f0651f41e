"""What the caller passed: checked, and equal rows merged into instances."""
