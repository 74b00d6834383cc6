"""Maintenance: what is due is done by itself, by one process at a time, and written down."""
