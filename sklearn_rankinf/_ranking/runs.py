"""Retrieval runs and relevance judgements, aligned to labels, scores and queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._ranking.options import check_count, check_option, check_positive
from sklearn_rankinf._ranking.ranking import Ranking, sums_by_block
from sklearn_rankinf._ranking.validation import (
    LARGEST_WHOLE,
    as_floats,
    as_scores,
    block_of_each,
    listed,
    numbered,
    shown,
    typed,
    warn_caller,
)
from sklearn_rankinf._statistics import Floats, Integers

# Names of columns and attributes in ir_datasets, ir_measures, PyTerrier, ranx and TREC's manuals.
_QUERY = ("query_id", "qid", "q_id", "query", "topic")
_DOCUMENT = ("doc_id", "docno", "docid", "document", "doc")
_RELEVANCE = ("relevance", "rel", "label", "grade", "score")
_SCORE = ("score", "sim")


@dataclass(frozen=True)
class RunCounts:
    """What was counted of a run.

    Attributes
    ----------
    n_queries : int
        Judged queries for which the run retrieved a document.
    n_queries_missing : int
        Judged queries for which it retrieved none, whose value counts as 0.
    n_queries_not_judged : int
        Queries of the run without judgements, which were left out.
    n_documents : int
        Documents that it retrieved for judged queries.
    n_not_judged : int
        Documents among them that are not judged: not relevant, or left out.
    n_relevant_not_retrieved : int
        Relevant documents that it did not retrieve.
    """

    n_queries: int
    n_queries_missing: int
    n_queries_not_judged: int
    n_documents: int
    n_not_judged: int
    n_relevant_not_retrieved: int


@dataclass(frozen=True, eq=False, repr=False)
class AlignedRuns:
    """Labels, scores and queries of runs, as :func:`align_runs` returns them.

    There is one row for each document of a judged query that is judged or that a run retrieved. The
    last row of each query stands for all other documents of the collection: its document is None,
    it is not relevant, and no run retrieved it.

    Attributes
    ----------
    y_true : ndarray of shape (n_rows,), dtype bool
        Whether the document is relevant.
    relevance : ndarray of shape (n_rows,), dtype float64
        Grade of the document, for DCG and NDCG; 0 if it is not judged or has a negative grade.
    y_score : dict of str to ndarray of shape (n_rows,)
        Score of the document in each run; -inf if the run did not retrieve it.
    groups : ndarray of shape (n_rows,), dtype object
        Query of the document.
    documents : ndarray of shape (n_rows,), dtype object
        The document.
    relevance_level : float
        Smallest grade of a relevant document.
    judged_only : bool
        Whether documents without judgement were left out.
    n_judged : int
        Number of judged documents.
    counts : dict of str to RunCounts
        What was counted of each run.

    See Also
    --------
    align_runs : The function that returns this object.
    """

    y_true: NDArray[np.bool_]
    relevance: Floats
    y_score: dict[str, Floats]
    groups: NDArray[np.object_]
    documents: NDArray[np.object_]
    relevance_level: float
    judged_only: bool
    n_judged: int
    counts: dict[str, RunCounts]

    def __repr__(self) -> str:
        return (
            f"AlignedRuns(runs={list(self.y_score)}, n_queries={self.n_queries}, "
            f"n_judged={self.n_judged})"
        )

    @property
    def n_queries(self) -> int:
        """Number of judged queries."""
        return int(np.sum(self._is_rest))

    @property
    def _is_rest(self) -> NDArray[np.bool_]:
        return np.array([document is None for document in self.documents.tolist()])

    def summary(self) -> str:
        """What was counted, in a sentence for the judgements and one for each run.

        Returns
        -------
        text : str
            The sentences, one a line.
        """
        lines = [
            f"{_counted(self.n_queries, 'query', 'queries')} with "
            f"{_counted(self.n_judged, 'judged document')}, {int(self.y_true.sum())} of them "
            f"relevant (grade {self.relevance_level:g} or more)."
        ]
        fate = "left out" if self.judged_only else "not relevant"
        for name, found in self.counts.items():
            queries = f"{name}: {_counted(found.n_queries, 'query', 'queries')}"
            if found.n_queries_missing:
                queries += f", {found.n_queries_missing} missing (0 each)"
            if found.n_queries_not_judged:
                queries += f", {found.n_queries_not_judged} without judgements (left out)"
            documents = _counted(found.n_documents, "document")
            if found.n_not_judged:
                documents += f", {found.n_not_judged} not judged ({fate})"
            missed = _counted(found.n_relevant_not_retrieved, "relevant document")
            lines.append(f"{queries}; {documents}; {missed} not retrieved.")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """A data frame of query, document, relevance, and ``score_`` with the name of each run.

        Returns
        -------
        frame : pandas.DataFrame
            The rows.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                'to_frame needs pandas: pip install "sklearn-rankinf[report]".'
            ) from error
        fixed = {"query": self.groups, "document": self.documents, "relevance": self.relevance}
        return pd.DataFrame(
            {**fixed, **{f"score_{name}": own for name, own in self.y_score.items()}}
        )

    def rankings(self, run: str, *, collection_size: Any = None) -> dict[Hashable, Ranking]:
        """Ranking of each query by a run, for tests against chance with :func:`metric_test`.

        Parameters
        ----------
        run : str
            Name of the run.
        collection_size : int or "retrieved", optional
            Number of documents in the collection. The documents that the run did not retrieve are
            one block of ties at the bottom, and the test compares the run with random orders of the
            whole collection. With ``"retrieved"`` it compares the run with random orders of the
            documents that it retrieved: whether they are ordered better than chance, and not
            whether they were selected better. The value of the metric is then that among these
            documents, and queries without any are left out. It must be left out with
            ``judged_only=True``, where the judged documents are the collection.

        Returns
        -------
        rankings : dict
            The ranking of each query. Documents are relevant or not: grades are not used.

        Raises
        ------
        TypeError
            If `collection_size` is neither an integer nor ``"retrieved"``.
        ValueError
            If there is no run with this name, or if `collection_size` is missing, smaller than the
            number of known documents of a query, or given with ``judged_only=True``.

        Notes
        -----
        The last place adds to each value a share of the order of the number of relevant documents
        over the number of all documents. With a large collection the values are those of trec_eval,
        but for NDCG without a cut-off, whose discounts decrease slowly.

        In a large collection almost any run is far better than chance. Compare runs with each other
        to learn more.

        Examples
        --------
        >>> from sklearn_rankinf import align_runs, metric_test
        >>> judged = {"q1": {"d1": 1, "d2": 1}, "q2": {"d3": 1}}
        >>> bm25 = {"q1": {"d1": 9.0, "d4": 8.0}, "q2": {"d4": 7.0, "d3": 6.0}}
        >>> aligned = align_runs(judged, bm25)
        >>> rankings = aligned.rankings("run", collection_size=1000)
        >>> rankings["q1"].tie_sizes, rankings["q1"].hits
        (array([  1,   1, 998]), array([1, 0, 1]))
        >>> round(metric_test(rankings).pvalue, 9)
        0.001003998
        """
        if run not in self.y_score:
            names = listed([*self.y_score])
            raise ValueError(f"run={shown(run)} is not a run: pass one of {names}.")
        size = self._size_of_collection(collection_size)
        scores, found = self.y_score[run], {}
        for query, rows in self._rows_of_queries().items():
            retrieved, n_known = rows[scores[rows] > -np.inf], rows.size - 1
            if size is not None and size < n_known:
                raise ValueError(
                    f"collection_size={size} is smaller than the number of known documents of "
                    f"query {shown(query)}, which is {n_known}."
                )
            sizes, hits = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
            if retrieved.size:
                sizes, hits = sums_by_block(self.y_true[retrieved], scores[retrieved])
            n_rest = (n_known if size is None else size) - retrieved.size
            if n_rest and collection_size != "retrieved":
                n_missed = int(self.y_true[rows].sum() - hits.sum())
                sizes, hits = np.append(sizes, n_rest), np.append(hits, n_missed)
            if sizes.size:
                found[query] = Ranking(sizes, hits)
        return found

    def _size_of_collection(self, collection_size: Any) -> int | None:
        """Check the size of the collection; None for documents that are known."""
        if self.judged_only:
            if collection_size is not None:
                raise ValueError(
                    "collection_size must be left out with judged_only=True, where the judged "
                    f"documents are the collection; got {shown(collection_size)}."
                )
            return None
        if collection_size is None:
            raise ValueError(
                "A test against chance needs collection_size, the number of documents in the "
                "collection; pass 'retrieved' to test only the order of the retrieved documents."
            )
        if isinstance(collection_size, str):
            if collection_size == "retrieved":
                return None
            raise ValueError(
                "collection_size must be a number of documents or 'retrieved'; got "
                f"{shown(collection_size)}."
            )
        return check_count(collection_size, "collection_size", 1)

    def _rows_of_queries(self) -> dict[Any, Integers]:
        """Rows of each query, of which the last one stands for the rest of the collection."""
        ends = np.flatnonzero(self._is_rest) + 1
        rows = np.split(np.arange(self.y_true.size), ends[:-1])
        return dict(zip(self.groups[ends - 1].tolist(), rows, strict=True))


def align_runs(
    qrels: Any,
    runs: Any,
    *,
    relevance_level: float = 1,
    judged_only: bool = False,
    ties: str = "expected",
) -> AlignedRuns:
    r"""Align retrieval runs and relevance judgements, for tests, intervals and comparisons.

    Parameters
    ----------
    qrels : data frame, mapping or iterable
        The judgements: a data frame of pandas or polars with a row for each judged document; a
        mapping from queries to mappings from documents to grades, as for pytrec_eval; or the
        records of ir_datasets and ir_measures. The columns or attributes are ``query_id``,
        ``doc_id`` and ``relevance``, or other usual names such as ``qid``, ``docno`` and ``label``.
    runs : data frame, mapping or iterable, or a dict of these
        One run, in the same forms, with ``score`` in place of ``relevance``; or several in a dict,
        by name. A single run has the name ``"run"``.
    relevance_level : float, default=1
        Smallest grade of a relevant document for metrics without grades.
    judged_only : bool, default=False
        Whether documents without judgement are left out, which gives condensed lists [1]_; else
        they are not relevant.
    ties : {"expected", "name"}, default="expected"
        Documents with equal scores are a block of ties, whose value is that of one threshold or
        the mean over all orders; or they are ordered as in trec_eval: by scores that are rounded to
        single precision, and equal ones by name, the last name first.

    Returns
    -------
    aligned : AlignedRuns
        ``y_true``, ``y_score`` and ``groups`` for :func:`metric_interval`,
        :func:`metric_comparison_test` and :func:`metric_multiple_comparison_test`, ``relevance`` in
        place of ``y_true`` for NDCG with grades, and ``rankings`` for :func:`metric_test`.

    Raises
    ------
    TypeError
        If judgements or runs are not in one of these forms, or grades or scores are not numbers.
    ValueError
        If a column or a value is missing, if a document occurs twice for a query, if a score is not
        finite, if no query of a run is judged, or if an option is not one of those above.

    See Also
    --------
    metric_comparison_test : Comparison of two runs.
    metric_interval : Interval of the mean of a metric over queries.

    Notes
    -----
    All values of queries are those of trec_eval, and with ``ties="name"`` also for equal scores:

    * A relevant document that a run did not retrieve counts among the relevant ones and adds
      nothing. This is the limit of a collection in which all documents that were not retrieved
      share the last place, as its size grows.
    * A query without any retrieved document counts as 0, as with the option ``-c`` of trec_eval.
      Queries of a run that have no judgements are left out.
    * A document with a negative grade is taken as not judged.

    Metrics that depend on the number of all documents, such as ROC AUC and enrichment, have no such
    value and are refused. Average precision at k is divided by the smaller of k and the number of
    relevant documents; ``map_cut`` of trec_eval is
    ``AveragePrecision(k, normalize="positives")``.

    Comparisons and intervals need no more than the values of the queries. A test against chance
    asks how likely such values are if documents are ordered at random, and so needs the set of
    documents that could have been retrieved: :meth:`AlignedRuns.rankings` takes its size.

    If documents without judgement are left out, a test against chance remains valid for all
    documents if whether a document was judged does not depend on its relevance at a given score.
    Intervals and comparisons are then about the judged documents: precision at 10 is that of the
    first 10 judged ones, and runs that are equally good on all documents can differ. Values of runs
    that did not contribute to the pool of judged documents are often too low if other documents are
    not relevant, and too high if they are left out.

    References
    ----------
    .. [1] Sakai, T. (2007). Alternatives to Bpref. Proceedings of the 30th International ACM SIGIR
       Conference, 71-78.

    Examples
    --------
    >>> from sklearn_rankinf import align_runs, metric_comparison_test
    >>> judged = {"q1": {"d1": 1, "d2": 1}, "q2": {"d3": 1, "d4": 0}, "q3": {"d5": 1}}
    >>> bm25 = {"q1": {"d1": 9.0, "d4": 8.0}, "q2": {"d4": 7.0, "d3": 6.0}}
    >>> dense = {"q1": {"d4": 0.9, "d1": 0.8, "d2": 0.1}, "q3": {"d5": 0.7}}
    >>> aligned = align_runs(judged, {"bm25": bm25, "dense": dense})
    >>> print(aligned.summary())
    3 queries with 5 judged documents, 4 of them relevant (grade 1 or more).
    bm25: 2 queries, 1 missing (0 each); 4 documents, 1 not judged (not relevant); ...
    dense: 2 queries, 1 missing (0 each); 4 documents, 1 not judged (not relevant); ...
    >>> result = metric_comparison_test(aligned.y_true, aligned.y_score, groups=aligned.groups)
    >>> round(result.statistic_a, 4), round(result.statistic_b, 4)
    (0.3333, 0.5278)
    """
    ties = check_option(ties, "ties", ("expected", "name"))
    if not isinstance(judged_only, bool | np.bool_):
        raise TypeError(f"judged_only must be True or False; got {typed(judged_only)}.")
    relevance_level = check_positive(relevance_level, "relevance_level")
    queries, documents = _Names("query"), _Names("document")
    judged = _Table.read(qrels, "qrels", _RELEVANCE, queries, documents)
    n_queries = len(queries.names)
    tables = {
        name: _Table.read(run, f"run {name!r}", _SCORE, queries, documents)
        for name, run in _runs_by_name(runs).items()
    }
    n = len(documents.names) + 1  # None, the rest of the collection, is the last document
    pool = judged.keep(as_floats(judged.values, "the relevance of qrels") >= 0.0)
    lists, counts = {}, {}
    for name, table in tables.items():
        own = table.keep(table.queries < n_queries)
        is_judged = np.isin(own.keys(n), pool.keys(n))
        _check_overlap(name, table, judged, is_judged)
        lists[name] = own.keep(is_judged) if judged_only else own
        counts[name] = _counts(table, own, pool, is_judged, relevance_level, n_queries)
    of_rest = np.arange(1, n_queries + 1) * n - 1
    rows = np.unique(np.concatenate([of_rest, *(own.keys(n) for own in (pool, *lists.values()))]))
    relevance, y_score = np.zeros(rows.size), {}
    relevance[np.searchsorted(rows, pool.keys(n))] = pool.values
    for name, own in lists.items():
        y_score[name] = np.full(rows.size, -np.inf)
        own_scores = own.places_by_name() if ties == "name" else own.scores()
        y_score[name][np.searchsorted(rows, own.keys(n))] = own_scores
    return AlignedRuns(
        y_true=relevance >= relevance_level,
        relevance=relevance,
        y_score=y_score,
        groups=_as_objects(queries.names)[rows // n],
        documents=_as_objects([*documents.names, None])[rows % n],
        relevance_level=relevance_level,
        judged_only=bool(judged_only),
        n_judged=pool.queries.size,
        counts=counts,
    )


class _Names:
    """Numbers of the names of queries or documents, common to all tables."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._numbers: dict[Any, int] = {}

    @property
    def names(self) -> list[Any]:
        return list(self._numbers)

    def number(self, entries: Any, table: str) -> Integers:
        codes, own = numbered(entries, table, self.what, len(entries))
        known = self._numbers
        return np.array([known.setdefault(name, len(known)) for name in own], dtype=np.int64)[codes]


@dataclass(frozen=True, eq=False)
class _Table:
    """Numbers of queries and documents, with a grade or a score for each pair."""

    queries: Integers
    documents: Integers
    values: NDArray[Any]
    names: tuple[_Names, _Names]

    @classmethod
    def read(
        cls, table: Any, what: str, of_values: Sequence[str], queries: _Names, documents: _Names
    ) -> _Table:
        of_query, of_document, of_value = _columns_of(table, what, of_values)
        if not len(of_query):
            raise ValueError(f"{what} is empty: at least one document is needed.")
        values = as_scores(of_value, f"the {of_values[0]} of {what}")
        numbers = queries.number(of_query, what), documents.number(of_document, what)
        own = cls(*numbers, values, (queries, documents))
        keys = own.keys(len(documents.names))
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        if (counts > 1).any():
            row = int(first[np.argmax(counts > 1)])
            raise ValueError(
                f"{what} has document {shown(of_document[row])} more than once for query "
                f"{shown(of_query[row])}: keep one of the rows."
            )
        return own

    def keep(self, rows: NDArray[np.bool_]) -> _Table:
        return _Table(self.queries[rows], self.documents[rows], self.values[rows], self.names)

    def keys(self, n_documents: int) -> Integers:
        """One number for each pair of a query and a document."""
        return np.asarray(self.queries * n_documents + self.documents)

    @property
    def first_names(self) -> tuple[Any, Any]:
        """Query and document of the first row."""
        queries, documents = self.names
        return queries.names[self.queries[0]], documents.names[self.documents[0]]

    def scores(self) -> Floats:
        """Scores as floats; numbers that a float would round are replaced by their places."""
        values = self.values
        if values.dtype.kind in "bf" and values.itemsize <= 8:
            return values.astype(np.float64)
        if values.dtype.kind in "iu" and not np.any(np.abs(values.astype(float)) >= LARGEST_WHOLE):
            return values.astype(np.float64)
        return np.asarray(-block_of_each(values)[0], dtype=np.float64)

    def places_by_name(self) -> Floats:
        """Places by score in single precision and, where equal, by the bytes of the name."""
        names = self.names[1].names
        present, codes = np.unique(self.documents, return_inverse=True)
        written = [str(names[number]).encode("utf-8", "surrogatepass") for number in present]
        place_of_name = np.empty(present.size, dtype=np.int64)
        place_of_name[sorted(range(present.size), key=written.__getitem__)] = np.arange(
            present.size
        )
        with np.errstate(over="ignore", under="ignore"):
            rounded = as_floats(self.values, "the score").astype(np.float32)
        places = np.empty(codes.size)
        places[np.lexsort((place_of_name[codes], rounded))] = np.arange(codes.size)
        return places


def _check_overlap(name: str, run: _Table, judged: _Table, is_judged: NDArray[np.bool_]) -> None:
    """Raise an error if no query of a run is judged, and warn if no document is."""
    (query, document), (judged_query, judged_document) = run.first_names, judged.first_names
    if not is_judged.size:
        remedy = "name queries alike in both"
        if type(query) is not type(judged_query):
            remedy = "read the queries of both as text"
        raise ValueError(
            f"No query of run {name!r} is judged; its first one is {shown(query)}, that of qrels "
            f"{shown(judged_query)}: {remedy}."
        )
    if not is_judged.any():
        warn_caller(
            f"No document of run {name!r} is judged, so that all its values are 0; its first one "
            f"is {shown(document)}, that of qrels {shown(judged_document)}: check that documents "
            "are named alike.",
            UserWarning,
        )


def _counts(
    run: _Table,
    own: _Table,
    pool: _Table,
    is_judged: NDArray[np.bool_],
    relevance_level: float,
    n_queries: int,
) -> RunCounts:
    """Count a run, of which `own` is the part with judged queries."""
    n_answered, n = np.unique(own.queries).size, len(own.names[1].names) + 1
    relevant = pool.keep(pool.values >= relevance_level)
    return RunCounts(
        n_queries=n_answered,
        n_queries_missing=n_queries - n_answered,
        n_queries_not_judged=np.unique(run.queries).size - n_answered,
        n_documents=is_judged.size,
        n_not_judged=int(np.sum(~is_judged)),
        n_relevant_not_retrieved=int(np.sum(~np.isin(relevant.keys(n), own.keys(n)))),
    )


def _runs_by_name(runs: Any) -> dict[str, Any]:
    """Runs in a dict by name, also a single one."""
    if not isinstance(runs, Mapping):
        return {"run": runs}
    if not runs:
        raise ValueError("runs is empty: pass at least one run.")
    return {"run": runs} if all(map(_has_numbers, runs.values())) else dict(runs)


def _has_numbers(scores: Any) -> bool:
    """Whether this may be the documents of a query with their scores, and not a run."""
    if not isinstance(scores, Mapping):
        return False
    return not isinstance(next(iter(scores.values()), None), Mapping)


def _columns_of(table: Any, what: str, of_values: Sequence[str]) -> list[Any]:
    """Queries, documents, and grades or scores of a table in one of the usual forms."""
    if isinstance(table, Mapping):
        wrong = next((own for own in table.values() if not isinstance(own, Mapping)), None)
        if wrong is not None:
            raise TypeError(
                f"{what} must map each query to a dict from documents to numbers; got "
                f"{typed(wrong)}."
            )
        rows = [(query, *pair) for query, own in table.items() for pair in own.items()]
        return [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    if hasattr(table, "columns"):
        names = list(table.columns)
        found = [_one_of(choice, names, what) for choice in (_QUERY, _DOCUMENT, of_values)]
        columns = [table[name] for name in found]
        ids = [own.tolist() if hasattr(own, "tolist") else list(own) for own in columns[:2]]
        return [*ids, columns[2]]
    if isinstance(table, str) or not isinstance(table, Iterable):
        raise TypeError(
            f"{what} must be a data frame, a dict of dicts, or records with a query, a document "
            f"and a number; got {typed(table)}."
        )
    records = list(table)
    if not records:
        return [[], [], []]
    names = list(getattr(records[0], "_fields", ()))
    if not names:
        raise TypeError(
            f"{what} must be a data frame, a dict of dicts, or records with a query, a document "
            f"and a number; got a row {typed(records[0])}."
        )
    found = [_one_of(choice, names, what) for choice in (_QUERY, _DOCUMENT, of_values)]
    return [[getattr(record, name) for record in records] for name in found]


def _one_of(choice: Sequence[str], names: list[Any], what: str) -> str:
    """The column with one of the usual names."""
    found = next((name for name in choice if name in names), None)
    if found is None:
        raise ValueError(
            f"{what} has no column {choice[0]!r}, nor any of {', '.join(map(repr, choice[1:]))}; "
            f"its columns are {listed(names)}: rename one."
        )
    return found


def _as_objects(values: list[Any]) -> NDArray[np.object_]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _counted(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"
