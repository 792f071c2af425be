"""What the property tests draw from: JSON values, and pairs of them that are nearly equal."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

# Texts that look like something else must come back as the texts they are.
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["5", "null", "true", "[]", "{}", '"x"', "NaN", "$bytes", "$$", '{"$bytes": "aGk="}', "\ud800", "é"]
    ),
)
KEYS = st.one_of(TEXTS, st.sampled_from(["a", "b", "__private", "$float", "$int", "$bytes", "$x"]))
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, 1.0000001, 1.00001, -0.0, 0.1, 1e-7, 1e17, 10**17, 10**17 + 100]),
)
JSON_SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)


def nested(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
        max_leaves=12,
    )


JSON = nested(JSON_SCALARS)
RECORDABLE = nested(st.one_of(JSON_SCALARS, st.binary(max_size=8), st.floats()))
COMPARABLE = nested(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(),
        NUMBERS.filter(lambda number: abs(number) < 1e300),
        st.sampled_from(["", "a", "b", "é", "x\ny", "x\nz", "1"]),
        st.sampled_from([b"a", b"\xff", b"", "é".encode()]),
    )
)


@st.composite
def nearly_equal(draw: st.DrawFn) -> tuple[Any, Any]:
    """A value, and a copy of it with a few small changes."""
    value = draw(COMPARABLE)
    return value, _changed(draw, value)


def _changed(draw: st.DrawFn, value: Any) -> Any:
    change = draw(st.integers(0, 11))
    if change == 0:
        return draw(COMPARABLE)
    if isinstance(value, (int, float)) and math.isfinite(value) and change <= 4:
        return [float(value), value + 1e-7, value + 1e-5, value * (1 + 1e-10)][change - 1]
    if isinstance(value, bool) and change <= 6:
        return int(value)
    if isinstance(value, str) and change == 1:
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        items = {key: _changed(draw, item) for key, item in value.items()}
        if change == 1:
            items["__private"] = 1
        if change == 2:
            items[draw(KEYS)] = 2
        if change == 3 and items:
            items.popitem()
        return items
    if isinstance(value, list):
        changed = [_changed(draw, item) for item in value]
        return {1: changed[::-1], 2: changed[1:], 3: [*changed, 3], 4: changed + changed[:1]}.get(change, changed)
    return value
