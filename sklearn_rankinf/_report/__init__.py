"""The report and the command line.

numbers         the results that a report holds
checks          problems with labels and scores
text            the report as text
html            the report as a page
report          the report
files           input and output files
commands        the commands of the command line
demo            the demonstration
"""
