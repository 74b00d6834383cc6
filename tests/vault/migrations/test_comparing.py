"""A column is plain or sealed, never changed from the one to the other in its place."""

import pytest
from sqlalchemy import Column, Enum, Integer, LargeBinary, MetaData, String, Text

from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.hospital import FULL, mail, patients, ssn
from vault.errors import DefinitionError
from vault.mapping import Sealed


@pytest.mark.parametrize("plain", [String(16), Text(), Integer()], ids=repr)
def test_a_plain_column_that_the_model_seals_is_refused(project: AlembicProject, plain: object) -> None:
    project.create(patients(Column("ssn", plain)))  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"^patient\.ssn is sealed in the model and not in the database") as told:
        project.differences(patients(ssn()))
    assert "new sealed column beside it" in str(told.value)


def test_a_sealed_column_that_the_model_opens_is_refused(project: AlembicProject) -> None:
    project.create(patients(mail(FULL)))
    with pytest.raises(DefinitionError, match=r"^patient\.mail is plain in the model and sealed in the database"):
        project.differences(patients(Column("mail", Text)))


def test_plain_columns_are_compared_as_ever(project: AlembicProject) -> None:
    project.create(patients(Column("scan", LargeBinary), Column("scan_old_a", Integer), Column("name", String(16))))
    changed = patients(Column("scan", LargeBinary), Column("scan_old_a", Integer), Column("name", Integer))
    ((found,),) = project.differences(changed)
    assert found[0] == "modify_type"


@pytest.mark.mariadb
def test_mariadb_sees_another_length_and_the_others_have_none(project: AlembicProject) -> None:
    project.create(patients(Column("ssn", Sealed(String(16)))))
    longer, longest = patients(Column("ssn", Sealed(String(40)))), patients(Column("ssn", Sealed(Text)))
    if not project.url.startswith("mysql"):
        assert project.differences(longer) == project.differences(longest) == []
        return
    for models in (longer, longest):
        ((found,),) = project.differences(models)
        assert found[0] == "modify_type"
        project.revision(models)
        project.upgrade()
        assert project.differences(models) == []


def test_an_enum_that_grows_needs_a_revision_beyond_its_room_alone(project: AlembicProject) -> None:
    def state(*labels: str) -> MetaData:
        return patients(Column("state", Sealed(Enum(*labels))))

    project.create(state("a", "b"))
    assert project.differences(state("a", "b", "c" * 255)) == []
    longer = project.differences(state("a", "b", "c" * 256))
    assert [one[0] for group in longer for one in group] == (["modify_type"] if project.url.startswith("mysql") else [])
    project.options["render_as_batch"] = True
    project.revision(state("a", "b", "c" * 256))
    project.upgrade()
    assert project.differences(state("a", "b", "c" * 256)) == []
