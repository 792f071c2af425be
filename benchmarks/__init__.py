"""Measurements against the bare floor, all in one run."""
