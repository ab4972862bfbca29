"""The report and the command line.

numbers         the numbers of a report
checks          problems with labels and scores
text            the report as text
html            the report as a page
report          the report
files           input and output files
commands        the commands of the command line
demo            the demonstration
"""
