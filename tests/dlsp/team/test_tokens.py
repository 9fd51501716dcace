import stat
import threading
from pathlib import Path

import pytest

from dlsp import cli
from dlsp.errors import UserError
from dlsp.team import tokens


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_the_file_has_no_token_but_its_hash(file: Path) -> None:
    token = tokens.make(file, "ada@example.org")
    content = file.read_text()
    assert token not in content
    assert token.removeprefix(tokens.PREFIX) not in content
    assert [each.hash for each in tokens.read(file)] == [tokens.hash_of(token)]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_no_two_tokens_are_alike(file: Path) -> None:
    assert len({tokens.make(file, "ada") for _ in range(20)}) == 20
    assert [each.number for each in tokens.read(file)] == list(range(1, 21))


def test_revoking_takes_a_users_tokens_and_no_others(file: Path) -> None:
    for user in ("ada", "bob", "ada"):
        tokens.make(file, user)
    assert tokens.revoke(file, "ada") == 2
    assert [each.user for each in tokens.read(file)] == ["bob"]


def test_one_of_a_users_tokens_can_be_revoked(file: Path) -> None:
    for user in ("ada", "ada"):
        tokens.make(file, user)
    assert tokens.revoke(file, "ada", 2) == 1
    assert [each.number for each in tokens.read(file)] == [1]
    with pytest.raises(UserError, match="'ada' has no token 2"):
        tokens.revoke(file, "ada", 2)


def test_tokens_that_are_made_at_once_are_all_kept(file: Path) -> None:
    threads = [threading.Thread(target=tokens.make, args=(file, f"user{number}")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.user for each in tokens.read(file)} == {f"user{number}" for number in range(8)}


@pytest.mark.parametrize("user", ["", " ada", "a\nb", "a" * 65, "-a", "a/b"])
def test_a_name_that_could_confuse_a_log_is_refused(user: str, file: Path) -> None:
    with pytest.raises(UserError, match="is no name of a user"):
        tokens.make(file, user)
    assert not file.exists()


@pytest.mark.parametrize("content", ["", "[]", '{"tokens": [1]}', '{"tokens": [{"user": "ada"}]}', "[" * 100_000])
def test_a_damaged_file_is_refused_and_kept(content: str, file: Path) -> None:
    file.write_text(content)
    with pytest.raises(UserError, match="is no file of tokens"):
        tokens.make(file, "ada")
    assert file.read_text() == content


def test_the_commands(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["team", "token", "make", "ada", "--tokens", str(file)]) == 0
    token = capsys.readouterr().out.strip()
    assert tokens.read(file)[0].hash == tokens.hash_of(token)
    assert cli.main(["team", "token", "list", "--tokens", str(file)]) == 0
    listed = capsys.readouterr().out
    assert "ada" in listed
    assert token not in listed
    assert cli.main(["team", "token", "revoke", "ada", "--tokens", str(file)]) == 0
    assert "1 token of ada revoked." in capsys.readouterr().out
    assert cli.main(["team", "token", "revoke", "ada", "--tokens", str(file)]) == 1
    assert capsys.readouterr().err == "dlsp: 'ada' has no token: `dlsp team token list` shows all.\n"


def test_without_a_name_the_file_is_in_the_state_folder(state_folder: Path) -> None:
    assert cli.main(["team", "token", "make", "ada"]) == 0
    assert (state_folder / "team-tokens.json").is_file()
