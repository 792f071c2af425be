"""`format_validators`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.verifiers.format_validators import ValidatorRegistry, validate_format
from tests.verifiers.strategies import RECORDABLE

ALIASES = {
    "timestamp": ["iso8601", "unix", "unix_timestamp"],
    "date": ["calendar_date"],
    "uuid": ["guid"],
    "ip": ["ip_address"],
    "ipv4": [],
    "ipv6": [],
    "email": [],
    "url": ["uri", "link"],
    "phone": ["telephone"],
    "hex": ["hex_color", "hexcode"],
    "base64": [],
    "json": [],
    "credit_card": ["cc", "card"],
    "us_zip": ["zip"],
}
VALID: dict[str, list[Any]] = {
    "timestamp": [
        "2024-05-06T07:08:09Z",
        "2024-05-06T07:08:09.123+02:00",
        "2024-05-06 07:08",
        1715000000,
        "1715000000.5",
    ],
    "date": ["2024-02-29"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    "ip": ["127.0.0.1", "::1"],
    "ipv4": ["255.255.255.255"],
    "ipv6": ["2001:db8::8a2e:370:7334"],
    "email": ["ann.b+c@mail.example.org"],
    "url": ["https://example.org/a?b=c#d", "ftp://host:21/x", "http://[::1]:80/"],
    "phone": ["+49 (30) 1234-567", "5551234567", "555.123.4567"],
    "hex": ["#fff", "#FFAA0080", "0x1F", "deadbeef"],
    "base64": ["aGVsbG8=", "YQ=="],
    "json": ['{"a": [1]}', "5", {"a": 1}, [1]],
    "credit_card": ["4111 1111 1111 1111", "4111-1111-1111-1111", 4111111111111111],
    "us_zip": ["12345", "12345-6789", 12345],
}
MALFORMED: dict[str, list[Any]] = {
    "timestamp": ["yesterday", "2024-13-01T00:00:00", -5, True, "1e9", float("nan")],
    "date": ["2023-02-29", "20240229", "2024-2-9", "2024-02-29T00:00:00", 20240229],
    "uuid": ["123e4567-e89b-12d3-a456-42661417400", "g23e4567-e89b-12d3-a456-426614174000", " ", 5],
    "ip": ["256.0.0.1", "1.2.3", "::g", 2130706433],
    "ipv4": ["::1", "1.2.3.4.5"],
    "ipv6": ["127.0.0.1"],
    "email": ["a@b", "a b@c.de", "@c.de", "a@c.de\n", "a..b@c.de", "a@-c.de", "a@1.2.3.4", "a@b@"],
    "url": ["example.org", "http://", "http://a b.c", "http://host:99999/", "https:///x", "//host/x"],
    "phone": ["123", "12345678901234567", "phone", "+1 555 12x4567", "555--1234567"],
    "hex": ["#ggg", "#12345", "0x", "", "xyz"],
    "base64": ["", "a", "aGVsbG8", "aGVs bG8=", "@@@@", "aGVsbG8=\n"],
    "json": ["{", "", "NaN", None, b"\xff"],
    "credit_card": ["4111 1111 1111 1112", "4111", "٤١١١١١١١١١١١١١١١", "4111--1111-1111-1111"],
    "us_zip": ["1234", "123456", "12345-678", "12345\n", "١٢٣٤٥"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in VALID.items() for value in values])
def test_a_valid_value_is_called_valid_by_every_name_of_its_format(name: str, value: Any) -> None:
    for fmt in (name, *ALIASES[name], name.upper()):
        assert validate_format(value, fmt) == f"VALID_{name.upper()}"


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in MALFORMED.items() for value in values])
def test_anything_else_is_malformed(name: str, value: Any) -> None:
    assert validate_format(value, name) == "MALFORMED"


@pytest.mark.parametrize("name", sorted(set(ALIASES) - {"json"}))
def test_containers_and_none_are_malformed(name: str) -> None:
    assert [validate_format(value, name) for value in (None, [], {}, b"\xff", object())] == ["MALFORMED"] * 5


@given(RECORDABLE, st.sampled_from(sorted(ALIASES)))
def test_no_value_makes_a_validator_fail(value: Any, name: str) -> None:
    assert validate_format(value, name) in (f"VALID_{name.upper()}", "MALFORMED")


def test_an_unknown_format_is_a_value_error_that_helps() -> None:
    with pytest.raises(ValueError, match=r'"uid".*did you mean "uuid"'):
        validate_format("x", "uid")
    with pytest.raises(ValueError, match=r"known formats: .*email.*uuid"):
        validate_format("x", "qqqqqq")


def test_a_format_of_ones_own_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ValidatorRegistry, "_formats", dict(ValidatorRegistry._formats))

    @ValidatorRegistry.register("sku", aliases=("article",))
    def is_sku(value: Any) -> bool:
        return bool(value.startswith("SKU-"))

    @ValidatorRegistry.register("even")
    def is_even(value: Any) -> bool:
        return int(value) % 2 == 0

    assert validate_format("SKU-1", "article") == "VALID_SKU"
    assert validate_format("1", "sku") == "MALFORMED"
    assert validate_format("x", "even") == "MALFORMED"
