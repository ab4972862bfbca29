"""Could a test see it? Power, sample sizes and widths of intervals.

power           the power of a test
odds            models of rankings that are better than random
sample_size     the smallest effect or number of positives with a given power
simulation      the power of a comparison, and the width of an interval
"""

from sklearn_rankinf._planning.power import MetricPowerResult, metric_power
from sklearn_rankinf._planning.sample_size import min_detectable_odds, min_positives
