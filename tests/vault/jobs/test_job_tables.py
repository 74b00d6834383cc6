from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine, make_url, text

from tests.vault.jobs.plain_work import Capitals, write_notes
from vault.errors import JobTablesError
from vault.jobs.engine import Job
from vault.jobs.job_tables import JOB_TABLE_NAMES, create_job_tables, ddl, has_job_tables


def test_they_are_made_once_also_by_several_at_once(database_url: str) -> None:
    engine = create_engine(database_url)
    with ThreadPoolExecutor(4) as threads:
        for made in [threads.submit(create_job_tables, engine) for _ in range(8)]:
            made.result()
    create_job_tables(engine)
    with engine.connect() as connection:
        assert has_job_tables(connection)
    assert {"noisevault_job", "noisevault_job_part", "noisevault_quarantine"} == JOB_TABLE_NAMES


@pytest.mark.postgres
def test_a_role_that_may_not_create_them_is_told_what_its_owner_runs(postgres_url: str) -> None:
    owner = create_engine(postgres_url)
    write_notes(owner, ["a"])
    with owner.begin() as connection:
        connection.execute(text("CREATE ROLE jobs_only LOGIN"))
    try:
        with owner.begin() as connection:
            connection.execute(text("GRANT SELECT, UPDATE ON note TO jobs_only"))
        role = create_engine(make_url(postgres_url).set(username="jobs_only"))
        with pytest.raises(JobTablesError, match="may not create") as refused:
            Job(Capitals(), role).run()
        with owner.begin() as connection:
            for statement in refused.value.ddl.split(";")[:-1]:
                connection.execute(text(statement))
        with pytest.raises(JobTablesError, match="grant the role SELECT, INSERT, UPDATE and DELETE on them"):
            Job(Capitals(), role).run()
        with owner.begin() as connection:
            named = ", ".join(sorted(JOB_TABLE_NAMES))
            connection.execute(text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {named} TO jobs_only"))
        assert Job(Capitals(), role).run().rewritten == 1
        role.dispose()
    finally:
        with owner.begin() as connection:
            connection.execute(text("DROP OWNED BY jobs_only"))
            connection.execute(text("DROP ROLE jobs_only"))


def test_the_statements_name_no_value_and_all_tables() -> None:
    told = str(JobTablesError(ddl(create_engine("sqlite://"))))
    assert all(f"CREATE TABLE IF NOT EXISTS {name}" in told for name in JOB_TABLE_NAMES)
