"""Accounting: what several answers cost one person together. Every figure is rounded against whoever asks."""
