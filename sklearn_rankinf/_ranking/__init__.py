"""Labels and scores: what is read, validated once, and ranked.

validation      readers of labels, scores, weights and counts, with one message for each mistake
options         readers of numbers and options
tables          labels and scores of several classes or rankers, with one column for each
sample          labels, scores and design of items: the only reader of them
runs            retrieval runs and relevance judgements, aligned to labels, scores and queries
ranking         blocks of equal scores, best first, and the hits in each block
estimators      scores of fitted models, and the rows of folds
distributed     blocks of equal scores in dask collections
"""

from sklearn_rankinf._ranking.estimators import (
    RESPONSE_METHODS,
    Fold,
    estimator_scores,
    folds_of,
    read_splits,
    rows,
)
from sklearn_rankinf._ranking.options import (
    as_numbers,
    as_seed_sequence,
    as_shape,
    check_alternative,
    check_average,
    check_between,
    check_confidence_level,
    check_counts,
    check_integer,
    check_k,
    check_levels,
    check_n_jobs,
    check_no_closed_form,
    check_option,
    check_positive,
    check_real,
    check_tie_sizes,
    check_verbose,
    resolve_each_k,
    resolve_k,
)
from sklearn_rankinf._ranking.ranking import Ranking, ends_up_to, read_ranking, sums_by_block
from sklearn_rankinf._ranking.runs import AlignedRuns, align_runs
from sklearn_rankinf._ranking.sample import Design, Sample, read_values
from sklearn_rankinf._ranking.tables import class_names, has_several_labels, holds_rankers
from sklearn_rankinf._ranking.validation import (
    PosLabel,
    as_exact_numbers,
    as_floats,
    block_of_each,
    check_pos_label,
    joined,
    no_positives,
    numbered,
    one_class_sentence,
    rank_order,
    read_labels,
    shown,
    warn_caller,
)
