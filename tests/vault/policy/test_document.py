import random
import re
from pathlib import Path

import pytest

from tests.sizes import sized
from tests.vault.policy.example import EXAMPLE, example_policy
from vault.policy import Policy, PolicyFaultsError


def test_a_policy_is_loaded_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "noisevault.toml"
    file.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode())
    policy = Policy.load(file)
    assert list(policy.table["person_year"].column)[:2] == ["person", "year"]
    assert policy.dataset["rand"].groups["site"] == (1, 2, 3, 4, 5, 6)
    assert policy.vault.keyring == "main"
    assert policy.database_url == f"sqlite:///{tmp_path / 'health.db'}"


def test_a_relative_path_to_the_file_gives_absolute_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.toml").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    assert Policy.load(Path("p.toml")).database_url == f"sqlite:///{tmp_path / 'health.db'}"


@pytest.mark.parametrize("content", [EXAMPLE.encode("utf-16"), b"[vault]\nkek = '\xe9'"])
def test_another_encoding_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.toml").write_bytes(content)
    with pytest.raises(PolicyFaultsError) as caught:
        Policy.load(tmp_path / "p.toml")
    assert str(caught.value) == f"{tmp_path / 'p.toml'}: is not UTF-8 text; save it as UTF-8"


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(PolicyFaultsError, match="cannot be read: No such file"):
        Policy.load(tmp_path / "p.toml")


def test_broken_toml_names_its_line() -> None:
    with pytest.raises(PolicyFaultsError, match=r"is not TOML: .*line 3"):
        Policy.read("[vault]\n\nkek = \n", Path("/srv"))


def test_an_empty_policy_lacks_its_sections() -> None:
    with pytest.raises(PolicyFaultsError) as caught:
        Policy.read("", Path("/srv"))
    assert caught.value.faults == ("vault: is missing",)


def test_a_policy_without_tables_is_enough_for_keys_and_leaves_its_datasets_to_be_checked_with_them() -> None:
    text = EXAMPLE[: EXAMPLE.index("[table")] + EXAMPLE[EXAMPLE.index("[dataset") :]
    assert Policy.read(text, Path("/srv")).table == {}
    known = example_policy().table
    assert Policy.read(text, Path("/srv"), mapped=known).table == known
    with pytest.raises(PolicyFaultsError, match=r"dataset\.rand\.table: there is no table person_year"):
        Policy.read(text, Path("/srv"), mapped={"t": known["person_year"]})


def test_tables_are_named_in_one_place() -> None:
    with pytest.raises(PolicyFaultsError, match="table: the mapped classes of --models are the tables; remove"):
        Policy.read(EXAMPLE, Path("/srv"), mapped=example_policy().table)


def test_a_policy_needs_no_dataset() -> None:
    assert Policy.read(EXAMPLE[: EXAMPLE.index("[dataset")], Path("/srv")).dataset == {}


def test_errors_do_not_chain_what_the_file_holds() -> None:
    for text in ("kek = ", EXAMPLE.replace("rows_per_unit = 5", 'rows_per_unit = "sesame-31"')):
        with pytest.raises(PolicyFaultsError) as caught:
            Policy.read(text, Path("/srv"))
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        assert "sesame" not in str(caught.value)


def test_grids_are_asked_by_dataset_and_column() -> None:
    assert example_policy().grid("rand", "spending").upper == 200_000
    with pytest.raises(KeyError):
        example_policy().grid("rand", "age")


def test_any_text_is_a_policy_or_named_faults() -> None:
    shuffle = random.Random(5)
    words = re.findall(r'"[^"]*"|\w+|[^\w\s]|\s+', EXAMPLE)
    others = [*words, "", "nan", "true", "{}", "[]", "1979-05-27", '"1e40"', '":"', '"postgresql://[::1"', '"mysql://"']
    outcomes = set()
    for _ in range(sized(500, 20_000)):
        text = words.copy()
        for _ in range(shuffle.randint(1, 3)):
            text[shuffle.randrange(len(text))] = shuffle.choice(others)
        try:
            Policy.read("".join(text), Path("/srv"))
            outcomes.add("policy")
        except PolicyFaultsError as error:
            outcomes.add("faults" if error.faults and all(error.faults) else "nothing said")
    assert outcomes == {"policy", "faults"}
