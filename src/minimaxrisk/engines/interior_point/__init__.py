"""The constraint-reduced interior point, and the exact vertex at its end."""
