"""Noise: integers drawn exactly from the operating system's randomness."""
