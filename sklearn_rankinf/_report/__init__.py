"""The report and the command line.

numbers         the results that a report holds
checks          problems with labels and scores
text            the report as text
study           the computation of the report
report          the report, and as a page
files           input and output files
commands        the commands of the command line
demo            the demonstration
"""
