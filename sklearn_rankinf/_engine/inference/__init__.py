"""Influence, limits, simultaneous bounds, models with odds: what tests and intervals need."""
