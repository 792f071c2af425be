"""slop-code: a black-box evaluator of code submissions."""

__version__ = "0.1.0"
