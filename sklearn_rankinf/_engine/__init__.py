"""Floor 0, probability: additive rank statistics under random labelling (numpy and scipy only)."""
