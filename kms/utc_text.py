"""UTC text: moments as people read them in messages, in UTC and to the minute or the second."""

from datetime import UTC, datetime

__all__ = ["to_the_minute", "to_the_second"]


def to_the_minute(moment: datetime) -> str:
    """Such as 2026-01-31 12:30 UTC. moment: aware."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def to_the_second(moment: datetime) -> str:
    """Such as 2026-01-31 12:30:05 UTC. moment: aware."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
