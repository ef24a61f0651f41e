"""Restarted primal-dual steps with certificates: for problems whose matrices no factor holds."""
