"""Window: what a scope has spent within its span, up to a bucket that never goes back.

A clock that is set back finds the bucket where it was, so that nothing refills before the time has come again. What is
charged while it is behind is taken for older by no more than it is behind.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dp.ledger.limits.spans import Span


@dataclass(frozen=True, slots=True)
class Window:
    """bucket: the last that it goes up to. nano: the sum of its buckets, in nano-epsilon."""

    span: Span
    bucket: int
    nano: int = 0

    def at(self, time: int, sum_from: Callable[[int], int]) -> "Window":
        """The window at a later time, or this one where that is no later bucket.

        sum_from: of what was spent in the bucket that is given and in all after it.
        """
        bucket = self.span.at(time)
        if bucket <= self.bucket:
            return self
        first = self.span.first(bucket)
        return Window(self.span, bucket, sum_from(first) if first <= self.bucket else 0)

    def with_spent(self, nano: int) -> "Window":
        return Window(self.span, self.bucket, self.nano + nano)
