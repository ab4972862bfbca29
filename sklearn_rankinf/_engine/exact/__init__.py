"""Answers that need no inversion: enumeration, counting, branch and bound, guaranteed bounds."""
