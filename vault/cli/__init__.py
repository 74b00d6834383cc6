"""The command `noisevault`: what operators and trusted analysts type. It reads the environment; nothing below does."""

from vault.cli.app import main

__all__ = ["main"]
