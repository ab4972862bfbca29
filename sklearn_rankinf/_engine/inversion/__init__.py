"""Tail probabilities by inversion of the characteristic function under exponential tilting."""
