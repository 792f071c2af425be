"""Structured logging to stderr.

structlog is imported when the first logger is asked for, so that importing the package stays cheap.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_configured = False


def get_logger(name: str | None = None) -> FilteringBoundLogger:
    """A structlog logger; its methods take keyword context: `log.info("Loaded", cases=3)`."""
    import structlog

    ensure_configured()
    logger: FilteringBoundLogger = structlog.get_logger(name) if name else structlog.get_logger()
    return logger.bind(logger=name) if name else logger


def debug(name: str, event: str, **context: Any) -> None:
    """Log what is being done. Where nobody has set up logging, nobody wants to know, and structlog is not imported."""
    if "structlog" in sys.modules:
        get_logger(name).debug(event, **context)


def setup_logging(level: str | int = "warning", *, json: bool = False, colors: bool | None = None) -> None:
    """Send log lines of `level` and above to stderr, as text or as one JSON object a line."""
    import structlog

    global _configured
    threshold = level if isinstance(level, int) else _level_number(level)
    if colors is None:
        colors = sys.stderr is not None and sys.stderr.isatty()
    renderer: Any = (
        structlog.processors.JSONRenderer(default=str)
        if json
        else structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            *([structlog.processors.format_exc_info] if json else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=_StderrLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    _configured = True


def ensure_configured() -> None:
    """Configure structlog with our defaults unless the application has already configured it."""
    if not _configured:
        import structlog

        if not structlog.is_configured():
            setup_logging()


def _level_number(level: str) -> int:
    try:
        return _LEVELS[level.lower()]
    except KeyError:
        raise ValueError(f"unknown log level {level!r}: one of {', '.join(_LEVELS)}") from None


class _StderrLoggerFactory:
    """Looks `sys.stderr` up at each call, so that redirections made later are honoured."""

    def __call__(self, *_: object) -> Any:
        import structlog

        return structlog.PrintLogger(sys.stderr)
