"""Retirement: how a key is shown to be needed nowhere, in every database of its keyring, before it goes."""
