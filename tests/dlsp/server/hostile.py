"""Folders that were made to do harm: what a clone or an unpacked archive can hold. Each is made by a function here."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

TEXT = "def add(a, b):\n    return \n"
STARS = "*a" * 11 + "b"
LONG_NAME = "a" * 60 + ".py"


def write(root: Path, name: str, text: str = TEXT) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, errors="surrogateescape")


def clone(root: Path) -> None:
    """By git itself: a clone can carry links."""
    origin = root.with_name("origin")
    origin.mkdir()
    os.symlink("/dev/zero", origin / "pyproject.toml")
    os.symlink("/dev/zero", origin / ".gitignore")
    write(origin, "ok.py")
    settings = [word for each in ("user.name=a", "user.email=a@b") for word in ("-c", each)]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *settings, *arguments], cwd=origin, check=True)
    subprocess.run(["git", "clone", "-q", str(origin), str(root)], check=True)
    assert os.readlink(root / "pyproject.toml") == "/dev/zero"


def huge(name: str) -> Callable[[Path], None]:
    """A gigabyte that takes no room on the disk."""

    def make(root: Path) -> None:
        write(root, name, "")
        os.truncate(root / name, 1_000_000_000)

    return make


def text(name: str, content: Callable[[], str]) -> Callable[[Path], None]:
    return lambda root: write(root, name, content())


def link(name: str, target: str) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, root / name)

    return make


def pipe(name: str) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(root / name)

    return make


def both(*makers: Callable[[Path], None]) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        for each in makers:
            each(root)

    return make


def sources(root: Path) -> None:
    os.mkfifo(root / "pipe.py")
    for name, target in {"zero": "/dev/zero", "stdin": "/dev/stdin", "out": "/etc/passwd", "self": "self.py"}.items():
        os.symlink(target, root / f"{name}.py")
    huge("huge.py")(root)


def circles(root: Path) -> None:
    os.symlink(".", root / "self")
    os.symlink("/", root / "all")
    os.symlink("..", root / "up")


def chain(root: Path) -> None:
    """Links of links, each of the one before."""
    for number in range(1_000):
        os.symlink(f"l{number - 1}" if number else "ok.py", root / f"l{number}")
    os.symlink("l999", root / ".gitignore")
    os.symlink("l999", root / "pyproject.toml")


def deep(root: Path) -> None:
    here = os.getcwd()
    os.chdir(root)
    try:
        for _ in range(1_500):  # their path is longer than the system takes
            os.mkdir("d")
            os.chdir("d")
        Path("a.py").write_text(TEXT)
    finally:
        os.chdir(here)


def nested_rules(root: Path) -> None:
    folder = root
    for _ in range(30):
        folder = folder / "a"
        write(folder, ".gitignore", ("*a*a*a*a*a[ab]*c\n" + "**/a/**/a/**/a/b\n") * 1_000)
        write(folder, "a.py")


def many(root: Path) -> None:
    for folder in range(30):
        for number in range(100):
            write(root, f"f{folder}/n{number}.py", f"def f{number}(): pass\n")


def odd_names(root: Path) -> None:
    for name in ("new\nline.py", "tab\t.py", "bad\udcff.py", " .py", "-rf.py", "*.py", "%s.py", "é" * 100 + ".py"):
        write(root, name)


def git_file(root: Path) -> None:
    write(root, ".git", "gitdir: git\n")
    (root / "git").mkdir()


WORKSPACES: Mapping[str, Callable[[Path], None]] = {
    "nothing special": lambda root: None,
    "a clone with links to /dev/zero": clone,
    "pyproject.toml to /dev/stdin": link("pyproject.toml", "/dev/stdin"),
    "pyproject.toml to /dev/zero": link("pyproject.toml", "/dev/zero"),
    "pyproject.toml is a pipe": pipe("pyproject.toml"),
    "pyproject.toml with dots": text("pyproject.toml", lambda: "[tool.dlsp]\n" + ".".join(["a"] * 50_000) + " = 1\n"),
    "pyproject.toml with dots elsewhere": text("pyproject.toml", lambda: ".".join(["a"] * 50_000) + " = 1\n"),
    "pyproject.toml with brackets": text("pyproject.toml", lambda: "[tool.dlsp]\na = " + "[" * 60_000),
    "pyproject.toml of a gigabyte": huge("pyproject.toml"),
    "stars": text(".gitignore", lambda: STARS),
    "stars in a setting": text("pyproject.toml", lambda: f'[tool.dlsp]\nignore = ["{STARS}"]\n'),
    "stars, not open": both(text(".gitignore", lambda: STARS), text("b" + LONG_NAME, lambda: TEXT)),
    "folders and stars": both(text(".gitignore", lambda: "**/a/" * 8 + "b\n"), text("a/" * 60 + "a.py", lambda: TEXT)),
    "100,000 patterns": text(".gitignore", lambda: "".join(f"name{number}*\n" for number in range(100_000))),
    "10,000 patterns": text(".gitignore", lambda: "".join(f"name{number}*\n" for number in range(10_000))),
    "2,000 patterns": text(".gitignore", lambda: ("*" + "[ab]" * 30 + "c\n") * 2_000),
    "a pattern of 50 MB": text(".gitignore", lambda: "a*" * 25_000_000),
    "rules in each folder": nested_rules,
    ".gitignore to /dev/zero": link(".gitignore", "/dev/zero"),
    ".gitignore is a pipe": pipe(".gitignore"),
    "info/exclude to /dev/zero": link(".git/info/exclude", "/dev/zero"),
    "info/exclude is a pipe": pipe(".git/info/exclude"),
    "commondir to /dev/zero": both(git_file, link("git/commondir", "/dev/zero")),
    "commondir is a pipe": both(git_file, pipe("git/commondir")),
    ".git of a gigabyte": huge(".git"),
    "excludesFile = /dev/zero": text(".git/config", lambda: "[core]\n\texcludesFile = /dev/zero\n"),
    "excludesFile is a pipe": both(pipe("p"), text(".git/config", lambda: "[core]\n\texcludesFile = p\n")),
    ".git/config is a pipe": pipe(".git/config"),
    ".git/config to /dev/zero": link(".git/config", "/dev/zero"),
    "sources that are none": sources,
    "circles of folders": circles,
    "chains of links": chain,
    "1,500 folders in each other": deep,
    "3,000 files": many,
    "odd names": odd_names,
    "YAML of 300 levels": text("open.yaml", lambda: "- " * 300),
    "Java that parses for seconds": text("Open.java", lambda: "a<" * 20_000),
    "Lua that parses for seconds": text("open.lua", lambda: "fn f(){" * 20_000),
    "Bash that parses for half a minute": text("open.sh", lambda: "".join(f"<<A{n} " for n in range(20_000))),
    "a header of line ends": text("blank.h", lambda: "\n" * 500_000),
}
