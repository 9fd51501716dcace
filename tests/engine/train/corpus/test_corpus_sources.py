import io
import json
import lzma
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from dlsp_engine.errors import EngineError
from dlsp_engine.train.corpus.package import GROUPS, File
from dlsp_engine.train.corpus.sources import debian, npm, pypi
from dlsp_engine.train.corpus.sources.archives import ahead


def wheel(folder: Path, name: str, version: str, files: dict[str, str], licence: str = "MIT") -> Path:
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nLicense-Expression: {licence}\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def tarball(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_wheels_come_in_order_and_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, scratch = tmp_path / "index", tmp_path / "scratch"
    index.mkdir()
    scratch.mkdir()
    wheel(index, "zebra_tools", "1.0", {"zebra/run.py": "run = 1", "zebra/data.json": "{}"})
    wheel(index, "ant", "0.9", {"ant.py": "old = 1"})
    wheel(index, "ant", "2.0", {"ant.py": "new = 1"}, licence="GPL-3.0-only")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")

    zebra, missing, ant = pypi.packages(["Zebra-Tools", "nowhere", "ant"], GROUPS["python"], scratch)

    assert zebra.version == "1.0"
    assert zebra.files == [File("zebra/run.py", "python", "MIT", b"run = 1")]
    assert missing.problem
    assert not missing.files
    assert ant.version == "2.0"
    assert ant.files == [File("ant.py", "python", "GPL-3.0-only", b"new = 1")]
    assert not list(scratch.iterdir())


def test_a_broken_wheel_is_a_problem_of_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(names: list[str], folder: Path) -> dict[str, Path]:
        path = folder / "bad-1-py3-none-any.whl"
        path.write_bytes(b"PK no zip")
        return {"bad": path}

    monkeypatch.setattr(pypi, "_download", download)
    (package,) = pypi.packages(["bad"], GROUPS["python"], tmp_path)
    assert "unreadable" in package.problem


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"license": "(MIT OR GPL-3.0)"}, "(MIT OR GPL-3.0)"),
        ({"license": {"type": "ISC"}}, "ISC"),
        ({"licenses": [{"type": "MIT"}, {"type": "GPL-2.0"}]}, "MIT OR GPL-2.0"),
        ({"license": "SEE LICENSE IN LICENSE"}, "Apache-2.0"),
        ({}, "Apache-2.0"),
    ],
)
def test_npm_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: dict[str, object], expected: str
) -> None:
    files = {
        "package/package.json": json.dumps({"version": "3.1.4", **stated}),
        "package/LICENSE": "Apache License, Version 2.0",
        "package/src/a.ts": "let a = 1",
        "package/readme.md": "text",
    }

    def download(name: str, folder: Path) -> Path:
        (folder / f"{name}.tgz").write_bytes(tarball(files))
        return folder

    monkeypatch.setattr(npm, "_download", download)
    monkeypatch.setattr(npm.shutil, "which", lambda name: name)
    (package,) = npm.packages(["pi"], GROUPS["javascript"], tmp_path)
    assert package.version == "3.1.4"
    assert package.files == [File("src/a.ts", "typescript", expected, b"let a = 1")]
    assert not list(tmp_path.iterdir())


COPYRIGHT = "Files: *\nLicense: Expat\n\nFiles: src/alien.c\nLicense: GPL-3\n"


def serve(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
    monkeypatch.setenv("DLSP_DEBIAN_MIRROR", "http://mirror.invalid/debian/")
    monkeypatch.setattr(debian, "_get", lambda path: files.get(path, b""))


def test_the_mirror_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_DEBIAN_MIRROR", "http://mirror.invalid/debian/")
    assert debian.mirror() == "http://mirror.invalid/debian"
    monkeypatch.delenv("DLSP_DEBIAN_MIRROR")
    with pytest.raises(EngineError, match="Set DLSP_DEBIAN_MIRROR"):
        debian.mirror()


def test_debian_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin = tarball({"lib-1/src/a.c": "int a;", "lib-1/src/alien.c": "int b;", "lib-1/debian/x.c": "int c;"})
    packaging = tarball({"debian/copyright": COPYRIGHT, "debian/tests/t.c": "int t;"})
    index = f"""Package: lib
Version: 1-2
Checksums-Sha256:
 {"0" * 64} 4 lib_1-2.dsc
 {sha256(origin).hexdigest()} 4 lib_1.orig.tar.xz
 {"0" * 64} 4 lib_1.orig.tar.xz.asc
 {sha256(packaging).hexdigest()} 4 lib_1-2.debian.tar.xz
Directory: pool/l/lib
Package-List:
 lib deb misc optional arch=any

Package: unwanted
"""
    files = {
        f"dists/{debian.RELEASE}/main/source/Sources.xz": lzma.compress(index.encode()),
        "pool/l/lib/lib_1.orig.tar.xz": origin,
        "pool/l/lib/lib_1-2.debian.tar.xz": packaging,
    }
    serve(monkeypatch, files)
    lib, missing = debian.sources(["lib", "nowhere"], GROUPS["cpp"], tmp_path)
    assert lib.version == "1-2"
    assert lib.files == [
        File("src/a.c", "c", "Expat", b"int a;"),
        File("src/alien.c", "c", "GPL-3", b"int b;"),
    ]
    assert missing.problem
    assert not list(tmp_path.iterdir())

    serve(monkeypatch, files | {"pool/l/lib/lib_1.orig.tar.xz": b"damaged"})
    with pytest.raises(EngineError, match="damaged"):
        list(debian.sources(["lib"], GROUPS["cpp"], tmp_path))

    serve(monkeypatch, files | {"pool/l/lib/lib_1.orig.tar.xz": b""})
    (absent,) = debian.sources(["lib"], GROUPS["cpp"], tmp_path)
    assert "mirror" in absent.problem


def test_debian_binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tarball(
        {
            "./usr/share/cargo/registry/bird-1.0/src/lib.rs": "fn fly() {}",
            "./usr/share/doc/librust-bird-dev/copyright": "Files: *\nLicense: MIT or Apache-2.0\n",
        }
    )
    package = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0"), ("data.tar.xz", data)):
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n"
        package += header.encode() + content + b"\n" * (len(content) % 2)
    index = f"Package: librust-bird-dev\nVersion: 1.0-1\nFilename: pool/b.deb\nSHA256: {sha256(package).hexdigest()}\n"
    packages = f"dists/{debian.RELEASE}/main/binary-amd64/Packages.xz"
    serve(monkeypatch, {packages: lzma.compress(index.encode()), "pool/b.deb": package})
    (bird,) = debian.binaries(["librust-bird-dev"], GROUPS["rust"], tmp_path)
    assert bird.files == [File("src/lib.rs", "rust", "MIT or Apache-2.0", b"fn fly() {}")]


def test_ahead_keeps_the_order_and_passes_failures_on() -> None:
    assert list(ahead(lambda number: number * 2, range(20))) == list(range(0, 40, 2))
    with pytest.raises(ZeroDivisionError):
        list(ahead(lambda number: 1 / number, [1, 0, 2]))
