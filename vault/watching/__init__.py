"""Watching: patterns in what was asked that an operator should know of. They warn, and decide nothing."""

from vault.watching.thresholds import Thresholds
from vault.watching.warning import Warned
from vault.watching.watch import watch

__all__ = ["Thresholds", "Warned", "watch"]
