"""Exact tails and guaranteed bounds: algorithms that need no characteristic function.

`enumeration` lists outcomes, whole, by halves (meet in the middle; Horowitz and Sahni, 1974) or
beyond a value; `near_maximum` uses it at the ends of the support. `few_positives` counts the
placements of one, two or three positives, `integer_weights` those of each value of a lattice, and
`hits` has the hypergeometric distributions of hits at k. `branch_and_bound` (Land and Doig, 1960),
and `lattice` with `bounds`, enclose a tail between two bounds. Every error is due to rounding or
half the distance between bounds.
"""
