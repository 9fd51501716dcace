import os
import subprocess
import time
from pathlib import Path

import pytest

from dlsp.ignore import Rules, walk
from dlsp.ignore.rules import MAX_FILE_BYTES


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def write(root: Path, name: str, text: str = "def f(): pass\n") -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


SECRETS = [
    *(".env", ".env.local", "prod.env", "a/.ENV", "id_rsa", "id_ed25519.pub", "server.pem", "tls/server.KEY", "ca.crt"),
    *(
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".aws/config",
        "home/.ssh/config",
        "credentials",
        "credentials.json",
        "secrets.yml",
    ),
    *("service-account-prod.json", "client_secret_1.json", "terraform.tfstate", "prod.tfvars", "vault.kdbx", "a.p12"),
]
MORE_SECRETS = """
secrets secrets.txt password.txt api_key.txt credentials.csv .credentials accessKeys.csv rootkey.csv
serviceAccountKey.json my-firebase-adminsdk-x.json env.production .dev.vars .flaskenv secrets.prod.yaml
prod-secrets.yaml k8s-secret.yaml vault.yml kubeconfig.yaml auth.json gradle.properties key.properties
keystore.properties local.properties .m2/settings.xml NuGet.Config .config/gh/hosts.yml
.terraform.d/credentials.tfrc.json wp-config.php appsettings.Production.json sftp-config.json .sentryclirc
.databrickscfg profiles.yml rclone.conf wg0.conf deploy_key github_rsa ssh_host_rsa_key keystore.json wallet.dat
mnemonic.txt logins.json .bash_history .psql_history gshadow dump.sql
"""
WHEREVER = [".ssh/config", ".aws/config", ".KUBE/config", ".docker/config.json", ".config/gcloud/a/b.json"]
OPEN = [
    *("config.json", "settings.py", "environment.py", "secrets.py", "credentials.py", "keys.py", "key.ts", "env.go"),
    *("tokens.py", "secrets/app.py", "token.go", "TokenParser.kt", "password_reset.md", "tokens.scss", "tokens.css"),
    *("tokenizer.json", "design-tokens.json", "special_tokens_map.json", "keys.json", "keyboard.json", "monkey.txt"),
    *("settings.xml", "hosts.yml", "appsettings.json", "authors.txt", "hotkeys.yaml", "requirements.txt", "Makefile"),
    *("package.json", "app.yaml", "pyproject.toml", "monkey.py", "certificate.py", "token.rs", "id_rsa_reader/main.go"),
]


@pytest.mark.parametrize("name", [*SECRETS, *MORE_SECRETS.split()])
def test_secrets_by_name(root: Path, name: str) -> None:
    assert "secrets" in Rules(root).excludes(root / name)


@pytest.mark.parametrize("name", WHEREVER)
def test_where_programs_keep_their_keys(tmp_path: Path, name: str) -> None:
    """Below a workspace, as its root, and where there is none."""
    for root in (tmp_path, (tmp_path / "home" / name).parent):
        assert "secrets" in Rules(root).excludes(tmp_path / "home" / name)


@pytest.mark.parametrize("name", OPEN[:-1])
def test_not_every_settings_file(root: Path, name: str) -> None:
    assert Rules(root).excludes(root / name) == ""


def test_the_workspace_itself_may_be_named_like_a_secret(tmp_path: Path) -> None:
    assert Rules(tmp_path / "credentials").excludes(tmp_path / "credentials" / "app.py") == ""
    assert "secrets" in Rules(tmp_path).excludes(tmp_path / "credentials" / "app.py")


@pytest.mark.parametrize("glob", ["!", "foo\\"])
def test_a_glob_that_is_no_pattern_is_passed_over(root: Path, glob: str) -> None:
    rules = Rules(root, (glob, "c.py"))
    assert rules.excludes(root / "c.py") == "a setting excludes it"
    assert rules.excludes(root / "a.py") == ""


def test_gitignore_as_git_reads_it(root: Path) -> None:
    write(root, ".gitignore", "*.log\n/build\nout/\n!keep.log\na/**/z.py\n[\n")
    write(root, "sub/.gitignore", "local.py\n!other.log\n")
    rules = Rules(root)
    excluded = ["a.log", "sub/a.log", "build/a.py", "out/x/a.py", "sub/out/a.py", "sub/local.py", "a/b/c/z.py"]
    open_ = ["keep.log", "sub/other.log", "sub/build/a.py", "local.py", "out.py", "z.py"]
    assert [name for name in excluded + open_ if rules.excludes(root / name)] == excluded
    assert rules.excludes(root / "a.log") == ".gitignore excludes it"


def test_a_file_in_an_excluded_folder_stays_excluded(root: Path) -> None:
    write(root, ".gitignore", "private/\n")
    write(root, "private/.gitignore", "!*\n")
    assert Rules(root).excludes(root / "private" / "a.py")


def test_rules_add_up(root: Path) -> None:
    write(root, ".gitignore", "a.py\n!.env\n")
    write(root, ".dlspignore", "!a.py\nb.py\n")
    rules = Rules(root, ("c.py", "!b.py", "!.env"))
    assert [rules.excludes(root / name) != "" for name in ("a.py", "b.py", "c.py", "d.py", ".env")] == [
        *(True, True, True, False, True)
    ]


def test_rules_of_the_repository_around(root: Path) -> None:
    write(root, ".gitignore", "*.gen.py\n")
    write(root, ".git/info/exclude", "mine.py\n")
    rules = Rules(root / "sub")
    assert rules.excludes(root / "sub" / "a.gen.py")
    assert rules.excludes(root / "sub" / "mine.py")
    assert not rules.excludes(root / "sub" / "a.py")


def test_gits_own_exclude_file_in_a_worktree_and_a_submodule(tmp_path: Path) -> None:
    def git(folder: Path, *arguments: str) -> None:
        settings = ("user.name=a", "user.email=a@b", "protocol.file.allow=always")
        given = [word for setting in settings for word in ("-c", setting)]
        subprocess.run(["git", *given, *arguments], cwd=folder, check=True, capture_output=True)

    main, other = tmp_path / "main", tmp_path / "other"
    for repository in (main, other):
        write(repository, "a.py")
        git(repository, "init")
        git(repository, "add", "a.py")
        git(repository, "commit", "-m", "one")
    git(main, "worktree", "add", "../tree")
    git(main, "submodule", "add", str(other), "part")
    write(main, ".git/info/exclude", "mine.py\n")
    write(main, ".git/modules/part/info/exclude", "its.py\n")
    assert Rules(tmp_path / "tree").excludes(tmp_path / "tree" / "mine.py")
    assert Rules(main / "part").excludes(main / "part" / "its.py")
    assert not Rules(main / "part").excludes(main / "part" / "mine.py")


def test_the_exclude_file_that_the_user_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    subprocess.run(["git", "init", str(root)], check=True, capture_output=True)
    subprocess.run(["git", "config", "--global", "core.excludesFile", "~/mine"], check=True)
    write(tmp_path, "mine", "*.local.py\nnotes/\n")
    write(root, ".git/info/exclude", "!shared.local.py\n")
    rules = Rules(root)
    assert rules.excludes(root / "sub" / "a.local.py") == "git's own exclude file excludes it"
    assert rules.excludes(root / "notes" / "a.py")
    assert not rules.excludes(root / "a.py")
    assert not rules.excludes(root / "shared.local.py")


def test_a_workspace_that_is_a_link_into_a_repository(root: Path, tmp_path: Path) -> None:
    write(root, ".gitignore", "*.gen.py\n/sub/out/\n")
    for name in ("a.py", "a.gen.py", "out/a.py", "mine.py"):
        write(root, f"sub/{name}")
    link = tmp_path / "link"
    os.symlink(root / "sub", link)
    rules = Rules(link, ("mine.py",))
    assert [path for path, _ in walk(rules)] == [link / "a.py"]
    assert rules.excludes(link / "a.gen.py")
    assert rules.excludes(link / "out" / "a.py")
    assert rules.excludes_folder(link / "out")
    os.symlink(root / "sub" / "mine.py", root / "sub" / "other.py")
    assert Rules(link, ("mine.py",)).excludes(link / "other.py")


def test_links(root: Path, tmp_path: Path) -> None:
    outside = write(tmp_path, "outside/a.py")
    write(root, ".env", "KEY=1")
    for name, target in {"out.py": outside, "folder": outside.parent, "env.py": root / ".env"}.items():
        os.symlink(target, root / name)
    os.symlink(write(root, "real.py"), root / "inside.py")
    rules = Rules(root)
    assert rules.excludes(root / "out.py") == "it is a link out of the workspace"
    assert rules.excludes(root / "folder" / "a.py") == "it is a link out of the workspace"
    assert "secrets" in rules.excludes(root / "env.py")
    assert rules.excludes(root / "inside.py") == ""
    assert [path.name for path, _ in walk(rules)] == ["real.py"]


def test_a_workspace_that_is_a_link(root: Path, tmp_path: Path) -> None:
    os.symlink(root, tmp_path / "link")
    write(root, "a.py")
    assert Rules(tmp_path / "link").excludes(tmp_path / "link" / "a.py") == ""


def test_walk(root: Path) -> None:
    write(root, ".gitignore", "skipped/\n")
    for name in [
        "a.py",
        "b/c.go",
        "b/data.json",
        "node_modules/x.js",
        "skipped/y.py",
        ".env",
        "picture.png",
        ".git/z.py",
    ]:
        write(root, name)
    write(root, "huge.py", "#" * (MAX_FILE_BYTES + 1))
    (root / "pipe.py").unlink(missing_ok=True)
    os.mkfifo(root / "pipe.py")
    assert [path.relative_to(root).as_posix() for path, _ in walk(Rules(root))] == ["a.py", "b/c.go"]


def test_sources_lie_in_the_workspace(root: Path, tmp_path: Path) -> None:
    rules = Rules(root)
    assert rules.excludes_source(write(tmp_path, "other/a.py"))
    assert rules.excludes_source(root / "gone.py")
    assert rules.excludes_source(write(root, "a.py")) == ""


@pytest.mark.parametrize("text", ["*.log\n" * 3000, "a" * 257, "a\n" * 200_000, "#" * 300_000])
@pytest.mark.parametrize("name", [".gitignore", ".dlspignore", "sub/.gitignore", ".git/info/exclude"])
def test_what_more_patterns_than_are_read_are_about_is_excluded(root: Path, name: str, text: str) -> None:
    write(root, name, text)
    rules = Rules(root)
    assert "than are read" in rules.excludes(root / "sub" / "a.py")
    assert bool(rules.excludes(root / "a.py")) == (not name.startswith("sub"))


def test_more_globs_than_are_read(root: Path) -> None:
    assert "than are read" in Rules(root, ("*.log",) * 3000).excludes(root / "a.py")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["zero", "pipe", "stdin"])
@pytest.mark.parametrize("name", [".gitignore", ".dlspignore", ".git/info/exclude", ".git/config", ".git", "commondir"])
def test_rules_that_are_no_files_are_none(root: Path, kind: str, name: str) -> None:
    if name == ".git":
        (root / ".git").rmdir()
    if name == "commondir":
        (root / ".git").rename(root / "git")
        write(root, ".git", "gitdir: git\n")
        name = "git/commondir"
    (root / name).parent.mkdir(exist_ok=True, parents=True)
    os.mkfifo(root / name) if kind == "pipe" else os.symlink(f"/dev/{kind}", root / name)
    began = time.monotonic()
    rules = Rules(root)
    assert rules.excludes(root / "a.py") == ""
    assert rules.hold()
    assert time.monotonic() - began < 5


@pytest.mark.timeout(60)
@pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "pipe", "long", "/proc/kmsg"])
def test_an_exclude_file_that_the_repository_names(root: Path, target: str) -> None:
    os.mkfifo(root / "pipe")
    write(root, "long", "a\n" * 1_000_000)
    write(root, ".git/config", f"[core]\n\texcludesFile = {target}\n")
    assert bool(Rules(root).excludes(root / "a.py")) == (target == "long")
    write(root, "mine", "a.py\n")
    write(root, ".git/config", "[core]\n\texcludesFile = mine\n")
    assert Rules(root).excludes(root / "a.py") == "git's own exclude file excludes it"


def test_the_users_exclude_file_may_be_a_link(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(tmp_path, "dotfiles/ignore", "*.local.py\n")
    (tmp_path / "config" / "git").mkdir(parents=True)
    os.symlink(tmp_path / "dotfiles" / "ignore", tmp_path / "config" / "git" / "ignore")
    assert Rules(root).excludes(root / "a.local.py")


def test_folders_in_each_other(root: Path) -> None:
    assert Rules(root).excludes(root.joinpath(*["a"] * 100, "a.py")) == ""
    assert Rules(root).excludes(root.joinpath(*["a"] * 101, "a.py")) == "it lies too deep"


def test_rules_hold_until_their_files_change(root: Path) -> None:
    rules = Rules(root / "sub")
    assert rules.excludes(root / "sub" / "a.py") == ""
    assert rules.hold()
    write(root, "sub/.gitignore", "a.py\n")
    assert not rules.hold()
    rules = Rules(root / "sub")
    assert rules.excludes(root / "sub" / "a.py")
    write(root, ".git/info/exclude", "b.py\n")
    assert not rules.hold()
    rules = Rules(root / "sub")
    (root / "sub" / ".git").mkdir()
    assert not rules.hold()


@pytest.mark.timeout(30)
def test_chains_of_links(root: Path) -> None:
    """Longer than the system follows, and longer than Python can recurse."""
    for number in range(2_000):
        os.symlink(f"l{number - 1}" if number else "a.py", root / f"l{number}")
    for name in (".gitignore", "b.py", ".git/info", ".git/config"):
        os.symlink(root / "l1999", root / name)
    write(root, "a.py")
    rules = Rules(root)
    assert rules.excludes(root / "a.py") == ""
    assert rules.excludes(root / "b.py") == "it is a link that leads nowhere"
    assert rules.excludes(root / "l9") == ""


def test_a_walk_that_is_to_end_ends_at_any_file(root: Path) -> None:
    for number in range(300):
        write(root, f"a{number}.bin", "")
    write(root, "z.py")
    left = iter([True] * 10)
    assert list(walk(Rules(root), going=lambda: next(left, False))) == []
    assert [path.name for path, _ in walk(Rules(root))] == ["z.py"]
