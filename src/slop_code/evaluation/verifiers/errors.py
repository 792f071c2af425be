"""What goes wrong in a verifier."""

from slop_code.errors import SlopCodeError


class VerifierError(SlopCodeError):
    """A result could not be judged: the verifier or its expectation is wrong, or it refused what it was given."""
