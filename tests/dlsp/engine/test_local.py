"""An installation without an engine: one sentence, with the command that adds one, wherever an engine is asked for."""

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dlsp import cli
from dlsp.engine import launch, local
from dlsp.models.catalogue import DEFAULT

ROOT = Path(__file__).parents[3]


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> str:
    """The command that this installation should name, in which none of the engine's libraries is found."""
    monkeypatch.setattr(local, "MODULES", tuple(f"absent_{name}" for name in local.MODULES))
    return local.install_command()


def test_nothing_is_missing_here() -> None:
    assert local.missing() == []
    local.require()


def test_the_modules_are_those_of_the_extra() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["engine"]
    names = {requirement.partition(">")[0] for requirement in extra}
    assert names - set(local.MODULES) == {"huggingface_hub", "httpx"}, "what a download takes"
    assert set(local.MODULES) <= names


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/a/.local/pipx/venvs/dlsp", 'pipx runpip dlsp install "dlsp[local]"'),
        ("/home/a/.local/share/uv/tools/dlsp", 'uv tool install --force "dlsp[local]"'),
        ("/home/a/project/.venv", '/home/a/project/.venv/bin/python -m pip install "dlsp[local]"'),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of other systems")
def test_the_command_is_that_of_the_tool_that_installed_dlsp(prefix: str, command: str) -> None:
    assert local.install_command(prefix) == command


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/h/pipx/venvs/dlsp", 'pipx runpip dlsp install --find-links /a/dist "dlsp[local]"'),
        ("/h/uv/tools/dlsp", 'uv tool install --force --find-links /a/dist "dlsp[local]"'),
        ("/h/.venv", '/h/.venv/bin/python -m pip install --find-links /a/dist "dlsp[local]"'),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of other systems")
def test_after_an_installation_from_a_wheel_the_rest_comes_from_its_folder(prefix: str, command: str) -> None:
    assert local.install_command(prefix, Path("/a/dist")) == command


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the usual build is the CPU build")
@pytest.mark.parametrize(("prefix", "said"), [("/h/pipx/venvs/dlsp", True), ("/h/uv/tools/dlsp", False)])
def test_the_cpu_build_of_pytorch_is_named_where_it_would_be_kept(prefix: str, said: bool) -> None:
    assert local.cpu_torch_command(prefix).startswith("pipx runpip dlsp install torch --index-url https://") is said


@pytest.mark.parametrize(
    ("origin", "folder"),
    [
        ('{"url": "file:///a/my%20dist/dlsp-0.1.0-py3-none-any.whl", "archive_info": {}}', Path("/a/my dist")),
        ('{"url": "https://example.org/dlsp-0.1.0-py3-none-any.whl", "archive_info": {}}', None),
        ('{"url": "file:///a/clone", "dir_info": {"editable": true}}', None),
        ("damaged", None),
        (None, None),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of other systems")
def test_where_the_wheel_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str | None, folder: Path | None
) -> None:
    installed = tmp_path / "dlsp-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.4\nName: dlsp\nVersion: 0.1.0\n")
    if origin:
        (installed / "direct_url.json").write_text(origin)
    monkeypatch.syspath_prepend(tmp_path)
    command = local.install_command("/h/.venv")
    assert shlex.split(command)[4:] == [*(["--find-links", str(folder)] if folder else []), "dlsp[local]"]


async def test_an_engine_is_not_started_and_the_command_is_named(state_folder: Path, light: str) -> None:
    with pytest.raises(local.NoLocalEngine) as raised:
        await launch.ensure(DEFAULT)
    assert light in str(raised.value)


@pytest.mark.parametrize("words", [["engine", "start"], ["engine", "run"], ["model", "pull"]])
def test_commands_say_it(words: list[str], state_folder: Path, light: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"`{light}`" in line


def test_doctor_says_it_and_asks_for_no_model(
    state_folder: Path, tmp_path: Path, light: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "empty"))
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert shown.count(light) == 1
    assert "model pull" not in shown


def test_the_light_install_imports_none_of_them() -> None:
    """Each module of dlsp, with the engine's libraries and packages made impossible to import."""
    code = (
        "import importlib, pkgutil, sys\n"
        f"for name in {[*local.MODULES, 'huggingface_hub', 'httpx', 'dlsp_engine', 'dlsp_kernels']!r}:\n"
        "    sys.modules[name] = None\n"
        "import dlsp\n"
        "for module in pkgutil.walk_packages(dlsp.__path__, 'dlsp.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
