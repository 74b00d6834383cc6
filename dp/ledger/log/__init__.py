"""Log: the audit log, an entry at a time, and its head."""
