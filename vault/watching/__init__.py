"""Watching: patterns in what was asked that an operator should know of. They warn, and decide nothing."""
