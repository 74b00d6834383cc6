"""The key service is sealed, killed and started again, or its token ends, in the middle of a run.

At the suite's size each is tried with one of the databases, in turn.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kms import ProviderSettings, SecretText
from tests.flows.faults.runs import run, run_to_the_end
from tests.flows.faults.traffic import traffic
from tests.flows.faults.visits import Place, as_first, fill, key_ids, require_whole, rotate
from tests.kms.logins.vault_logins import AppRoleOnServer
from tests.kms.providers.transit import Transit, transit_on
from tests.pairwise import one_of
from tests.servers.bao_server import BaoServer
from tests.servers.databases import DATABASES
from tests.sizes import sized
from tests.vault.projects import write_policy
from vault.policy import Policy
from vault.project import Project

pytestmark = pytest.mark.openbao
ROWS = sized(300, 4_000)


@pytest.fixture
def transit(bao_raft: BaoServer) -> Iterator[Transit]:
    with transit_on(bao_raft, f"job-{os.urandom(4).hex()}") as transit:
        transit.create()
        yield transit
        bao_raft.bring_back()


@pytest.fixture
def project(transit: Transit, tmp_path: Path, database_url: str) -> Iterator[Project]:
    path = write_policy(tmp_path, database_url + ("?timeout=60" if database_url.startswith("sqlite") else ""))
    path.write_text(path.read_text().replace("local:kek", transit.uri()))
    settings = ProviderSettings(token=SecretText(transit.server.root_token), **transit.server.settings)
    project = Project.create(Policy.load(path), settings)
    fill(project, range(ROWS))
    yield project
    project.close()


@pytest.fixture
def place(transit: Transit, tmp_path: Path) -> Place:
    """A process that does not go on for a second without its key service."""
    return Place(tmp_path, 0.3, 0.6, transit.server.root_token, ca_file=transit.server.settings["ca_file"])


@pytest.mark.parametrize("database_url", one_of(DATABASES, 1), indirect=True)
def test_a_seal_is_waited_for_by_the_run_and_told_to_the_callers_of_a_service(
    project: Project, place: Place, bao_raft: BaoServer
) -> None:
    key_id = rotate(project)
    with (
        traffic(place, ROWS, processes=1, rest=sized(60, 2) / 1000) as told,
        run(place, 20, rate=ROWS / 3, patience=60.0) as one,
    ):
        assert one.until_told("advanced", 2)
        bao_raft.seal()
        assert one.until_told("waiting"), one.told("refused")
        waited_at = one.told("advanced")[-1]["rewritten"]
        assert len(key_ids(project)) == 2
        assert one.is_running
        bao_raft.unseal()
        assert one.end() == 0, (one.told("refused"), one.told("proved"))
        assert one.told("ended")[-1]["rewritten"] > waited_at
    assert told.wrong == []
    assert told.errors, "the service was told"
    assert all(error.startswith(("UnavailableError", "StatementError")) for error in told.errors), told.errors
    require_whole(project, told.allowed, key_id)


@pytest.mark.parametrize("database_url", one_of(DATABASES, 2), indirect=True)
def test_a_server_that_is_killed_and_started_again_is_waited_for(
    project: Project, place: Place, bao_raft: BaoServer
) -> None:
    key_id = rotate(project)
    with run(place, 20, rate=ROWS / 3, patience=60.0) as one:
        assert one.until_told("advanced", 2)
        bao_raft.kill9()
        assert one.until_told("waiting"), one.told("refused")
        bao_raft.restart()
        bao_raft.unseal()
        assert one.end() == 0, one.told("refused")
    require_whole(project, as_first(ROWS), key_id)


@pytest.mark.parametrize("database_url", one_of(DATABASES, 3), indirect=True)
def test_an_outage_that_outlasts_the_patience_ends_the_run_with_a_clear_line_and_it_goes_on_later(
    project: Project, place: Place, bao_raft: BaoServer
) -> None:
    key_id = rotate(project)
    with run(place, 20, rate=ROWS / 3, patience=1.0) as one:
        assert one.until_told("advanced", 2)
        bao_raft.seal()
        assert one.end() == 1
        assert "sealed" in one.message
        assert "what was written so far stays" in one.message
        assert "go on by the same command" in one.message
        written = one.told("advanced")[-1]["rewritten"]
    bao_raft.unseal()
    require_whole(project, as_first(ROWS))
    status, again = run_to_the_end(place)
    assert status == 0, again.told("refused")
    assert again.told("began")[-1]["resumed"]
    assert again.told("ended")[-1]["rewritten"] <= ROWS - written
    require_whole(project, as_first(ROWS), key_id)


@pytest.mark.parametrize("database_url", one_of(DATABASES, 4), indirect=True)
def test_k13_01_a_token_of_two_seconds_ends_a_run_of_six_with_a_clear_line_and_another_goes_on(
    project: Project, transit: Transit, tmp_path: Path
) -> None:
    key_id = rotate(project)
    rules = [("keys/kek", "read"), ("encrypt/kek", "update"), ("decrypt/kek", "update")]
    ca_file = transit.server.settings["ca_file"]
    for seconds in (2, 4, 8, 16):  # a busy machine may take longer to begin
        token = transit.token(*rules, ttl=f"{seconds}s", renewable=False)
        with run(Place(tmp_path, 0.3, 0.6, token, ca_file=ca_file, deadline=5.0), 20, rate=ROWS / (3 * seconds)) as one:
            assert one.end() == 1
            assert "token" in one.message
            assert "unforeseen" not in one.message
            if one.told("advanced"):
                break
    assert one.told("advanced"), "it had begun"
    assert len(key_ids(project)) == 2
    require_whole(project, as_first(ROWS))
    status, again = run_to_the_end(Place(tmp_path, token=transit.token(*rules, ttl="60s"), ca_file=ca_file))
    assert status == 0, again.told("refused")
    assert again.told("began")[-1]["resumed"]
    require_whole(project, as_first(ROWS), key_id)


@pytest.mark.parametrize("database_url", one_of(DATABASES, 5), indirect=True)
def test_k13_01_who_can_log_in_again_goes_on_over_the_end_of_its_tokens(
    project: Project, transit: Transit, tmp_path: Path
) -> None:
    key_id = rotate(project)
    role = AppRoleOnServer.create(transit, token_ttl="2s", token_max_ttl="2s")
    login = (role.role_id, role.secret_id(), role.mount)
    place = Place(tmp_path, 0.3, 0.6, role=login, ca_file=transit.server.settings["ca_file"], deadline=5.0)
    with run(place, 20, rate=ROWS / 6) as one:
        assert one.end() == 0, one.told("refused")
    require_whole(project, as_first(ROWS), key_id)
