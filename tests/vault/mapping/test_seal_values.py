"""By column what is sealed, with terms; NULL needs neither a key nor a tenant."""

import pytest
from sqlalchemy import Engine

from tests.vault.mapping.driver_spy import DriverSpy
from tests.vault.tenancy import Account, Patient
from vault import TenantError, TenantVaults
from vault.mapping.seal_values import sealed_values
from vault.mapping.statement_plan import StatementPlan

IBAN = Account.__table__.c.iban.type.owner
SSN = Patient.__table__.c.ssn.type.owner
ROWS = [{"id": n, "tenant_id": ("acme", "globex")[n % 2]} for n in range(4)]


def test_each_value_is_sealed_by_its_rows_tenant(tenancy: tuple[Engine, DriverSpy], vaults: TenantVaults) -> None:
    values = ["x", "x", None, "y"]
    columns = sealed_values(tenancy[0].dialect, StatementPlan(), IBAN, values, ROWS, inserting=False)
    assert list(columns) == ["iban", "iban_bidx_a", "iban_bidx_b"]
    for value, row, sealed, term in zip(values, ROWS, columns["iban"], columns["iban_bidx_a"], strict=True):
        field = vaults.vault(row["tenant_id"]).field(IBAN.definition)  # type: ignore[arg-type]
        assert field.open(sealed, row) == value
        assert field.terms(value)["iban_bidx_a"] == term


def test_null_needs_no_tenant(tenancy: tuple[Engine, DriverSpy]) -> None:
    rows = [{"id": 1, "tenant_id": None}]
    nothing = sealed_values(tenancy[0].dialect, StatementPlan(), IBAN, [None], rows, inserting=False)
    assert nothing == {"iban": [None], "iban_bidx_a": [None], "iban_bidx_b": [None]}
    with pytest.raises(TenantError):
        sealed_values(tenancy[0].dialect, StatementPlan(), IBAN, ["x"], rows, inserting=False)


def test_one_value_and_many_are_alike(tenancy: tuple[Engine, DriverSpy], vaults: TenantVaults) -> None:
    with vaults.tenant("acme"):
        one = sealed_values(tenancy[0].dialect, StatementPlan(), SSN, ["x"], None, inserting=False)
        many = sealed_values(tenancy[0].dialect, StatementPlan(), SSN, ["x", "y"], None, inserting=False)
        assert one["ssn_bidx_a"][0] == many["ssn_bidx_a"][0]
        assert vaults.current().field(SSN.definition).open(one["ssn"][0]) == "x"
