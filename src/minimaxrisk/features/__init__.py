"""Instance features Psi(x): containers that the engines ask, and kernels, which stand for scalar products."""
