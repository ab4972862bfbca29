"""Exact null distributions of additive rank statistics (numpy and scipy only)."""
