"""Triggers: what the database itself refuses, made on a table that services go on to use."""
