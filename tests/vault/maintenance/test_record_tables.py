"""The table is named as all of ours, and its key says of what a record is."""

from vault.maintenance.record_tables import maintenance_table


def test_one_row_for_each_step_of_a_keyring_in_a_database() -> None:
    assert maintenance_table.name.startswith("noisevault_")
    assert [column.name for column in maintenance_table.primary_key] == ["keyring_id", "identity", "step", "scope"]
