"""Reporting: a quarter as a data-protection officer files it, from the audit log and the stores, never from values."""
