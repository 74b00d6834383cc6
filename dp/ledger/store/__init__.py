"""Store: the ledger's tables, and how they are read and written on each database."""
