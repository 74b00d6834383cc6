"""Bar: how much of a budget is spent: in colour on a terminal that has it, in signs elsewhere, as in a file."""

from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.text import Text

__all__ = ["Bar"]

# Ours, in characters.
WIDTH: Final = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """spent, cap: in one unit, whichever. Something spent shows, and something left."""

    spent: int
    cap: int

    @property
    def filled(self) -> int:
        """Characters of the bar that are full; all of them only where nothing is left."""
        if self.spent >= self.cap:
            return WIDTH
        return min(WIDTH - 1, -(-self.spent * WIDTH // self.cap))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.color_system is None:
            yield Text("#" * self.filled + "." * (WIDTH - self.filled))
        else:
            yield ProgressBar(total=WIDTH, completed=self.filled, width=WIDTH)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(WIDTH, WIDTH)
