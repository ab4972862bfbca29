"""Predicted classes: randomization tests, and posterior distributions.

randomization   randomization and matched-pair tests of two classifications
posteriors      posterior distributions of precision, recall and F-scores
"""
