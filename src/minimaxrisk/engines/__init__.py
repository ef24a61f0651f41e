"""Algorithms that look for the optimal pair (mu, w); the certificate judges what they return."""
