"""Is this text a valid e-mail address, UUID, date…? Formats by name, and a registry for more of them."""

from __future__ import annotations

import base64
import binascii
import difflib
import ipaddress
import json
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

Validator = Callable[[Any], bool]
MALFORMED = "MALFORMED"


class ValidatorRegistry:
    """The formats that `validate_format` knows, by name and alias, without regard to case."""

    _formats: ClassVar[dict[str, tuple[str, Validator]]] = {}

    @classmethod
    def register(cls, name: str, aliases: Iterable[str] = ()) -> Callable[[Validator], Validator]:
        """Make the decorated function the validator of a format: it tells whether a value is valid."""

        def registered(validator: Validator) -> Validator:
            for known_as in (name, *aliases):
                cls._formats[known_as.lower()] = (name, validator)
            return validator

        return registered

    @classmethod
    def find(cls, name: str) -> tuple[str, Validator]:
        """The format's own name and its validator.

        Raises:
            ValueError: there is no such format.
        """
        found = cls._formats.get(str(name).strip().lower())
        if found is None:
            close = difflib.get_close_matches(str(name).lower(), cls._formats, n=1)
            hint = f'did you mean "{close[0]}"?' if close else f"known formats: {', '.join(sorted(cls._formats))}"
            raise ValueError(f'unknown format "{name}": {hint}')
        return found


def validate_format(value: Any, fmt: str) -> str:
    """`"VALID_UUID"` or `"MALFORMED"`, and so for every format; an alias gives the format's own name.

    Raises:
        ValueError: there is no such format.
    """
    name, validator = ValidatorRegistry.find(fmt)
    try:
        valid = validator(value)
    except (ValueError, TypeError, ArithmeticError):
        valid = False
    return f"VALID_{name.upper()}" if valid else MALFORMED


@ValidatorRegistry.register("timestamp", aliases=("iso8601", "unix", "unix_timestamp"))
def _timestamp(value: Any) -> bool:
    """ISO 8601, or seconds or milliseconds since 1970 up to the year 9999, as a number or its text."""
    text = _text(value)
    if isinstance(value, (int, float)) or re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return 0 <= float(text) <= 253_402_300_799_999
    return bool(datetime.fromisoformat(text))


@ValidatorRegistry.register("date", aliases=("calendar_date",))
def _date(value: Any) -> bool:
    text = _text(value)
    return _matches(r"\d{4}-\d{2}-\d{2}", text) and bool(date.fromisoformat(text))


@ValidatorRegistry.register("uuid", aliases=("guid",))
def _uuid(value: Any) -> bool:
    return _matches(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", _text(value).lower())


@ValidatorRegistry.register("ip", aliases=("ip_address",))
def _ip(value: Any) -> bool:
    return bool(ipaddress.ip_address(_string(value)))


@ValidatorRegistry.register("ipv4")
def _ipv4(value: Any) -> bool:
    return bool(ipaddress.IPv4Address(_string(value)))


@ValidatorRegistry.register("ipv6")
def _ipv6(value: Any) -> bool:
    return bool(ipaddress.IPv6Address(_string(value)))


@ValidatorRegistry.register("email")
def _email(value: Any) -> bool:
    local, _, domain = _string(value).rpartition("@")
    atom = r"[\w!#$%&'*+/=?^`{|}~-]+"
    label = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
    return (
        0 < len(local) <= 64
        and len(domain) <= 253
        and _matches(rf"{atom}(\.{atom})*", local)
        and _matches(rf"({label}\.)+{label}", domain.lower())
        and not domain.rpartition(".")[2].isdigit()
    )


@ValidatorRegistry.register("url", aliases=("uri", "link"))
def _url(value: Any) -> bool:
    text = _string(value)
    parts = urlsplit(text)
    # Reading the port is what makes urlsplit check it.
    return bool(_matches(r"[^\s\x00-\x1f\x7f]+", text) and parts.scheme and parts.hostname) and (parts.port or 0) >= 0


@ValidatorRegistry.register("phone", aliases=("telephone",))
def _phone(value: Any) -> bool:
    text = _text(value)
    digits = re.sub(r"\D", "", text, flags=re.ASCII)
    return _matches(r"\+?(\(\d{1,4}\)|\d)([ .-]?(\(\d{1,4}\)|\d))*", text) and 7 <= len(digits) <= 15


@ValidatorRegistry.register("hex", aliases=("hex_color", "hexcode"))
def _hex(value: Any) -> bool:
    """`#fff` and other colours, or hexadecimal digits with or without `0x`."""
    return _matches(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|(0x)?[0-9a-f]+", _text(value).lower())


@ValidatorRegistry.register("base64")
def _base64(value: Any) -> bool:
    text = _string(value)
    try:
        return bool(text) and bool(base64.b64decode(text, validate=True))
    except binascii.Error:
        return False


@ValidatorRegistry.register("json")
def _json(value: Any) -> bool:
    """Text that holds JSON, or a value that came out of JSON."""
    if isinstance(value, (str, bytes)):
        try:
            json.loads(_string(value), parse_constant=_refuse)
        except RecursionError:
            return False
        return True
    return isinstance(value, (dict, list, int, float))


@ValidatorRegistry.register("credit_card", aliases=("cc", "card"))
def _credit_card(value: Any) -> bool:
    text = _text(value)
    digits = [int(digit) for digit in re.sub(r"[ -]", "", text)] if _matches(r"\d+([ -]?\d+)*", text) else []
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return 13 <= len(digits) <= 19 and (sum(digits[-1::-2]) + doubled) % 10 == 0


@ValidatorRegistry.register("us_zip", aliases=("zip",))
def _us_zip(value: Any) -> bool:
    return _matches(r"\d{5}(-\d{4})?", _text(value))


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


def _string(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not text")
    return value


def _text(value: Any) -> str:
    """Text, or a number as its text, as JSON often has it."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else _string(value)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
