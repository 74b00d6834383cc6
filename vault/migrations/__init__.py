"""Migrations: what Alembic has to know of sealed columns. Its files say what the database holds, and nothing of a key.

Alembic finds `plugin` by an entry point, so that nothing is to be wired. See docs/migrations.md.
"""

import alembic  # noqa: F401  # first of all: it loads the plugin, which imports the modules here
