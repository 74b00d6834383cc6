"""The command `noisevault`: what an operator and a trusted analyst type. It reads the environment; nothing below does."""

from vault.cli.app import main

__all__ = ["main"]
