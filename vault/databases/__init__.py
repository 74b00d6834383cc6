"""Databases: which ones hold what the keys of a keyring sealed, as their services tell the key store."""
