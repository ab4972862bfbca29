"""Mathematics of intervals, comparisons, simultaneous bounds and planning (numpy and scipy)."""
