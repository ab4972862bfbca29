"""Averages of a metric over the classes of multiclass and multilabel labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from sklearn_rankinf._statistics import Metric


@dataclass(frozen=True, repr=False)
class AveragedMetric(Metric):
    """The average of a metric over classes, as `averaged` of the metric returns it."""

    metric: Metric
    average: str

    def __post_init__(self) -> None:
        if not self.metric.has_influence:
            raise ValueError(
                f"{self.metric!r} has no average over classes; got average={self.average!r}: "
                "use the metric itself, which is that of each class."
            )
        if self.average == "micro" and self.metric.horizon is not None:
            raise ValueError(
                f"{self.metric!r} is not defined with average='micro', which ranks the samples of "
                "all classes in one list; use 'macro' or 'weighted', for which k counts samples "
                "per class."
            )

    def __repr__(self) -> str:
        return f"{self.metric!r}.averaged({self.average!r})"

    @property
    def title(self) -> str:
        """Name of the metric in sentences and on axes."""
        return f"{self.average.capitalize()} average of {self.metric.title_in_text}"

    @property
    def symbol(self) -> str:
        """Name of the metric in legends and tables."""
        return f"{self.average} {self.metric.symbol}"

    def at(self, n_samples: int) -> Self:
        """The same average for a number of samples; a fraction becomes a rank."""
        return replace(self, metric=self.metric.at(n_samples))

    def of_each_class(self) -> tuple[Metric, str | None]:
        """The metric of one class, and the average over classes."""
        return self.metric, self.average
