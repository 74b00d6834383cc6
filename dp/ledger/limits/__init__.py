"""Limits: what a charge counts against: budgets by scope and window, shared lifetimes, copies, and what is declared."""
