"""Instance features Psi(x): containers that the engines ask, and maps that make new columns."""
