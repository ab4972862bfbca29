"""The report and the command line.

numbers         the results of each ranking, and of its hits at k
findings        what a report holds: all rankings, their comparison, and a table of them
checks          problems with labels and scores
text            the report as text
study           the computation of the report
report          the report, and as a page
files           input and output files
trec_files      judgements and runs
commands        the commands of the command line
demo            the demonstration
"""
