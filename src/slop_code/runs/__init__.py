"""Evaluations as a whole: many checkpoints of many submissions, and what was done before."""
