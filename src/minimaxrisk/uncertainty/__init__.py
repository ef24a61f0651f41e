"""The uncertainty set: expectation estimates and how far to trust them."""
