"""Tail probabilities by inversion of the characteristic function under exponential tilting.

`forward_pass` computes ``E exp(z S)`` by a forward pass over the blocks, in which only the rows of
`bands` are kept; `ranking_transform` adds closed forms and what contours need to plan. `tilts` has
the ladder of tilts and Chernoff bounds, `nodes` the sums along a contour (Abate and Whitt, 1992)
and samples beyond its end. `contour` inverts all blocks at the same nodes.
`stratified` has contours for long lists whose top ranks decide, by the pass from coarse to fine
nodes of `multirate`; far up they hold only the strata that matter. `band_limited` has guaranteed
bounds, for which `paths_of_tail` finds the paths that carry a tail, and `other_paths` bounds the
rest.
"""
