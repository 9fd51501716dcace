"""From the built packages and an empty home to a suggestion in Neovim and in VS Code, as a new user goes."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dlsp.models import store
from dlsp.models.catalogue import DEFAULT
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.neovim.provide import nvim
from tests.e2e.provide import Missing
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import Editor, editor
from tests.install.home import Home, megabytes

ROOT = Path(__file__).parents[2]
# Where the model is sure after the dot, and what it suggests there.
SURE = """class Point:
    def __init__(self, x, y, z):
        self.x = x
        self.y = y
        self."""
SUGGESTED = "z = z"
# The first suggestion waits for the engine, which converts the model first; a later one for a busy machine.
FIRST_S, ASK_AGAIN_S = 900, 8
NO_ENGINE = "This installation has no engine: run "
# Megabytes with the CPU build of PyTorch; docs/install.md and README.md say what was measured.
MOST_LIGHT, MOST_LOCAL, MOST_MODEL = 100, 1450, 1100

# The locked PyTorch; TORCH_FROM is make's, and says where it comes from here.
TORCH = f"pipx runpip dlsp install {os.environ.get('TORCH_FROM', '')} -r {ROOT}/requirements/torch.txt"

# Hands a number to the report of `make prove`.
Record = Callable[[str, object], None]

pytestmark = [pytest.mark.prove, pytest.mark.model, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of wheels, extension and plugin archive."""
    subprocess.run(["make", "dist", "dist-editors", f"BIN={Path(sys.executable).parent}"], cwd=ROOT, check=True)
    return ROOT / "dist"


@pytest.fixture(scope="module")
def editors() -> tuple[Path, Editor]:
    try:
        return nvim("0.12"), editor()
    except Missing as why:
        pytest.skip(f"NOT RUN: {why}")


@pytest.fixture(scope="module")
def local(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with `dlsp[local]` and the model."""
    with Home(tmp_path_factory.mktemp("local")) as home:
        home.install_plugin(built / "dlsp.nvim.tar.gz")
        home.must(f"pipx install {built}/dlsp-[0-9]*.whl")
        home.must(TORCH)
        home.must(f"""pipx runpip dlsp install --find-links {built} "dlsp[local]\"""")
        home.must("dlsp model pull")
        yield home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.git").mkdir(parents=True)
    return tmp_path / "project"


def test_with_an_engine(
    local: Home, built: Path, editors: tuple[Path, Editor], project: Path, record_property: Record
) -> None:
    neovim, code = editors
    began = time.monotonic()
    suggested_in_neovim(local, neovim, project)
    record_property("first_suggestion_s", round(time.monotonic() - began, 1))
    suggested_in_code(local, code, built, project)
    report = local.must("dlsp doctor")
    assert "goes to this machine" in report, report
    environment = local.folder / ".local/share/pipx/venvs/dlsp"
    record_property("local_mb", libraries := megabytes([environment]))
    record_property("model_mb", model := megabytes([local.folder / ".cache/dlsp"]))
    if "+cpu" in local.must("pipx runpip dlsp list"):
        assert libraries < MOST_LOCAL
    assert model < MOST_MODEL


def test_without_one_its_command_is_named_and_brings_it(
    built: Path,
    editors: tuple[Path, Editor],
    project: Path,
    tmp_path_factory: pytest.TempPathFactory,
    record_property: Record,
) -> None:
    neovim, code = editors
    with Home(tmp_path_factory.mktemp("light")) as home:
        home.install_plugin(built / "dlsp.nvim.tar.gz")
        home.must(f"pipx install {built}/dlsp-[0-9]*.whl")
        record_property("light_mb", light := megabytes([home.folder / ".local/share/pipx/venvs/dlsp"]))
        assert light < MOST_LIGHT
        doctor = home.run("dlsp doctor")
        assert doctor.returncode == 1
        command = named(doctor.stdout)
        assert "Traceback" not in doctor.stdout
        with home.neovim(neovim, project / "light.py") as vim:
            vim.keys("ix = ")
            vim.until(lambda: NO_ENGINE in vim.messages(), "it is said in Neovim")
            vim.rpc("nvim_input", "<Esc>:Dlsp why<CR>")
            vim.until(lambda: packed(command) in packed("".join(vim.drawn.lines())), "the whole command is shown")
            vim.keys("<CR>")
        with home.code(code, built / "dlsp.vsix", project) as there:
            there.open("")
            there.type("x = ")
            there.until(there.notifications, "it is said in VS Code")
            (said,) = there.notifications()
            assert NO_ENGINE in said
            assert packed(command) in packed(said)
        home.must(TORCH)
        home.must(command)
        home.must(f"dlsp model pull --from {store.path(DEFAULT)}")
        suggested_in_neovim(home, neovim, project)
        suggested_in_code(home, code, built, project)


def named(text: str) -> str:
    """The one command that adds an engine."""
    (found,) = set(re.findall(r'`(pipx [^`]*"dlsp\[local\]")`', re.sub(r"\s+", " ", text)))
    return found


def packed(text: str) -> str:
    """Without spaces, which an editor may put elsewhere."""
    return re.sub(r"\s", "", text)


def suggested_in_neovim(home: Home, program: Path, project: Path) -> None:
    file = project / "point.py"
    file.write_text(SURE[:-1] + "\n")
    with home.neovim(program, file) as vim:
        vim.keys("GA")
        assert typed_until_suggested(lambda: vim.type("."), vim.ghost, lambda: vim.keys("<BS>"), vim) == SUGGESTED
        vim.keys("<Tab>")
        assert "\n".join(vim.lines()) == SURE + SUGGESTED
        assert vim.errors() == ""


def suggested_in_code(home: Home, editor: Editor, built: Path, project: Path) -> None:
    with home.code(editor, built / "dlsp.vsix", project) as code:
        code.open(SURE[:-1], "point.py")
        seen = typed_until_suggested(lambda: code.insert("."), code.ghost, lambda: code.press("Backspace"), code)
        assert seen == SUGGESTED
        code.press("Tab")
        code.wait_for_text(SURE + SUGGESTED)


def typed_until_suggested(
    type_dot: Callable[[], None], ghost: Callable[[], str | None], take_back: Callable[[], None], where: Neovim | Code
) -> str:
    """Type the dot, and again where nothing came in time."""
    deadline = time.monotonic() + FIRST_S
    while time.monotonic() < deadline:
        type_dot()
        again = time.monotonic() + ASK_AGAIN_S
        while time.monotonic() < again:
            if seen := ghost():
                return seen
            time.sleep(0.1)
        take_back()
    raise AssertionError(f"No suggestion in {FIRST_S} s.\n{where.report()}")
