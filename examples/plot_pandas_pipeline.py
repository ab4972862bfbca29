"""
==============================
From a data frame to a p-value
==============================

A mailing is sent to customers, and few of them answer. The data frame has numbers, categories,
missing values and text labels. This example searches over the parameters of a model by significance
and tests the winner on new customers, with pandas and scikit-learn.
"""

# %%
# Customers
# ---------
# There are 3000 customers. Fewer than one in thirty answer; recent buyers and members answer more
# often.

import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
n = 3000
customers = pd.DataFrame(
    {
        "age": rng.normal(48, 15, n).clip(18, 95).round(),
        "months_since_purchase": rng.exponential(14, n).round(1),
        "spent": rng.lognormal(4, 1, n).round(2),
        "region": rng.choice(["north", "south", "east", "west"], n),
        "member": rng.choice(["yes", "no"], n, p=[0.3, 0.7]),
    }
)
log_odds = -3.3 - 0.06 * customers["months_since_purchase"] + 0.8 * (customers["member"] == "yes")
answered = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "answered", "silent"))
customers.loc[rng.random(n) < 0.1, "age"] = np.nan
print(customers.head())
print(answered.value_counts())

# %%
# The pipeline and the search
# ---------------------------
# The labels are text, so the scorer needs ``pos_label``. The search selects the parameter setting
# with the strongest evidence against chance.

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from sklearn_rankinf import make_significance_scorer

pipeline = make_pipeline(
    make_column_transformer(
        (OrdinalEncoder(), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    ),
    HistGradientBoostingClassifier(max_iter=40, random_state=0),
)
search_customers, new_customers, search_answers, new_answers = train_test_split(
    customers, answered, test_size=1000, stratify=answered, random_state=0
)
search = GridSearchCV(
    pipeline,
    {"histgradientboostingclassifier__max_leaf_nodes": [2, 4, 8, 31]},
    scoring=make_significance_scorer(pos_label="answered"),
    cv=4,
)
search.fit(search_customers, search_answers)
table = pd.DataFrame(search.cv_results_)
print(table[["param_histgradientboostingclassifier__max_leaf_nodes", "mean_test_score"]])

# %%
# New customers
# -------------
# The search selected its winner on the same folds that scored it, so the score of the winner is
# biased upwards. The p-value on customers that were not used in the search is valid.

from sklearn_rankinf import average_precision_test, recall_at_k_test

column = list(search.classes_).index("answered")
score = pd.Series(search.predict_proba(new_customers)[:, column], index=new_customers.index)
result = average_precision_test(new_answers, score, pos_label="answered")
print(result)
print(f"AP = {result.statistic:.3f}, by chance {result.null_distribution.mean():.3f}")
for k in (50, 100, 200):
    at_k = recall_at_k_test(new_answers, score, k=k, pos_label="answered")
    print(
        f"of the first {k}: {at_k.statistic:.0%} of those who answer, by chance "
        f"{at_k.null_distribution.mean():.0%}, p = {at_k.pvalue:.1e}"
    )

# %%
# The fields of the results are plain arrays or numbers, so a dict comprehension collects them in a
# table. Here the model is compared with a simple rule: write first to those who bought most
# recently.

rankings = {"model": score, "last purchase": -new_customers["months_since_purchase"]}
tests = {
    name: average_precision_test(new_answers, ranking, pos_label="answered")
    for name, ranking in rankings.items()
}
fields = ["statistic", "adjusted_statistic", "zscore", "pvalue"]
print(
    pd.DataFrame(
        {name: [getattr(test, field) for field in fields] for name, test in tests.items()},
        index=fields,
    )
)

# %%
# The plot shows the null distribution of average precision, given the ties of these scores, and the
# observed value:

from sklearn_rankinf import NullDistributionDisplay

display = NullDistributionDisplay(result, name="model").plot()
