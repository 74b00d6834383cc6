"""Where a role sees a part of a table only, nothing is proved by counting."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, insert, text

from tests.vault.projects import write_policy
from vault.errors import KeyInUseError
from vault.policy import Policy
from vault.retirement.row_security import require_all_rows
from vault.rows.key_uses import values_under
from vault.rows.raw_table import raw_table
from vault.schema import tables

OLD = bytes.fromhex("9692ad97")


def test_a_table_that_is_shown_whole_is_let_through(tmp_path: Path, database_url: str) -> None:
    table = tables(Policy.load(write_policy(tmp_path, database_url))).tables["visit"]
    engine = create_engine(database_url)
    table.create(engine)
    require_all_rows(engine, table)
    engine.dispose()


@pytest.mark.postgres
def test_a_role_under_a_row_level_policy_is_refused(tmp_path: Path, postgres_url: str) -> None:
    table = tables(Policy.load(write_policy(tmp_path, postgres_url))).tables["visit"]
    engine: Engine = create_engine(postgres_url)
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(
            insert(raw_table(table)).values(person=1, year=1, site=2, diagnosis=b"\x01\x00" + OLD + bytes(30))
        )
        for statement in (
            "CREATE ROLE clerk",
            "GRANT SELECT ON visit TO clerk",
            "ALTER TABLE visit ENABLE ROW LEVEL SECURITY",
            "CREATE POLICY own_site ON visit USING (site = 1)",
        ):
            connection.execute(text(statement))
    clerk = create_engine(postgres_url, connect_args={"options": "-c role=clerk"})
    assert values_under(clerk, [table], OLD) == [], "and there is one"
    with pytest.raises(KeyInUseError, match=r"row-level security shows this role a part of visit: .* BYPASSRLS"):
        require_all_rows(clerk, table)
    require_all_rows(engine, table)
    clerk.dispose()
    with engine.begin() as connection:
        connection.execute(text("DROP OWNED BY clerk"))
        connection.execute(text("DROP ROLE clerk"))
    engine.dispose()
