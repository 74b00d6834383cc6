"""Verifying: the log followed, and the rows held against it; what is exported of it."""
