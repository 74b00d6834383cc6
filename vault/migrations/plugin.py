"""Plugin: what Alembic calls once, when it is imported: it gets our operations and comparisons."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.runtime.plugins import Plugin

__all__ = ["setup"]


def setup(plugin: "Plugin") -> None:
    """Register everything. Alembic is half imported by now, hence the imports here."""
    from alembic.util import DispatchPriority

    import vault.migrations.rendering  # noqa: F401  # registers the operations, and how they are written
    from vault.migrations.comparing import compare_type
    from vault.migrations.rewriting import rewrite

    plugin.add_autogenerate_comparator(compare_type, "column", "types", priority=DispatchPriority.FIRST)
    plugin.add_autogenerate_comparator(rewrite, "autogenerate", "noisevault", priority=DispatchPriority.LAST)
