"""A stand-in for Accelerate."""
