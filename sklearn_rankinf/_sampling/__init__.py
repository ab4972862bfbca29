"""Random labellings, exchanges, swaps and resamples, in memory that does not grow with n."""
