"""Definitions in other files of what the gap's surroundings import or name."""

import re
from pathlib import Path

import pytest

from dlsp.context.workspace import Workspace
from tests.dlsp.context.conftest import Ask

STORE = (
    "class Store:\n    def lend(self, book, reader):\n"
    + "        go()\n" * 9
    + "\n\ndef unrelated_helper(a):\n    return a\n"
)

CASES = {
    "imported": ("a.py", "from lending.store import Store\n\nx = ▮\n", {"lending/store.py": STORE}),
    "imported and used": ("a.py", "from lending.store import Store\n\nx = Store().▮\n", {"lending/store.py": STORE}),
    "relative": ("lending/a.py", "from .store import Store\n\nx = ▮\n", {"lending/store.py": STORE}),
    "through a package": ("a.py", "from lending import Store\n\nx = Store(▮\n", {"lending/store.py": STORE}),
    "a module": ("a.py", "from lending import store\n\nx = store.▮\n", {"lending/store.py": STORE}),
    "javascript": (
        "src/a.js",
        "import { Store } from './store';\n\nconst x = new Store().▮\n",
        {"src/store.js": "export class Store {\n  lend(book, reader) {\n" + "    go();\n" * 9 + "  }\n}\n"},
    ),
    "typescript, a type alone": (
        "src/a.ts",
        "import type { Store } from '../lib/store';\n\nfunction f(x: Store) { x.▮ }\n",
        {"lib/store.ts": "export interface Store {\n  lend(book: string, reader: string): void;\n}\n"},
    ),
    "go, the same package": (
        "lib/a.go",
        "package lib\n\nfunc f() {\n\ts := NewStore(▮)\n}\n",
        {"lib/store.go": "package lib\n\nfunc NewStore(lend int, reader int) *int {\n" + "\tgo()\n" * 9 + "}\n"},
    ),
    "rust": (
        "src/a.rs",
        "use crate::store::Store;\n\nfn f() { let s = Store::▮ }\n",
        {
            "src/store.rs": "pub struct Store {}\nimpl Store {\n    pub fn lend(reader: i32) -> i32 {\n"
            + "        go();\n" * 9
            + "    }\n}\n"
        },
    ),
    "java": (
        "A.java",
        "import lib.Store;\n\nclass A { void f(Store s) { s.▮ } }\n",
        {
            "lib/Store.java": "package lib;\npublic class Store {\n  int lend(int reader) {\n"
            + "    go();\n" * 9
            + "  }\n}\n"
        },
    ),
    "c, a header": (
        "a.c",
        '#include "store.h"\n\nint f() { return store_lend(▮); }\n',
        {"store.h": "int store_lend(int lend, int reader);\n"},
    ),
    "c#, in a namespace": (
        "A.cs",
        "using Lib.Lending;\n\nclass A { void F(Store s) { s.▮ } }\n",
        {
            "Lib/Lending/Store.cs": "namespace Lib.Lending\n{\n  public class Store\n  {\n"
            + "    public int lend(int reader)\n    {\n"
            + "      go();\n" * 9
            + "    }\n  }\n}\n"
        },
    ),
    "c++, in a namespace, in a header named like one of C": (
        "a.cc",
        '#include "lib/store.h"\n\nint f(Store* s) { return s->▮; }\n',
        {"lib/store.h": "namespace lib {\nclass Store {\n public:\n  int lend(int book, int reader);\n};\n}\n"},
    ),
    "ruby, in a module": (
        "a.rb",
        "require_relative 'store'\n\nx = Store.new.▮\n",
        {
            "store.rb": "module Lib\n  class Store\n    def lend(book, reader)\n"
            + "    go\n" * 9
            + "    end\n  end\nend\n"
        },
    ),
    "ruby": (
        "a.rb",
        "require_relative 'store'\n\nx = Store.new.▮\n",
        {"store.rb": "class Store\n  def lend(book, reader)\n" + "    go\n" * 9 + "  end\nend\n"},
    ),
    "lua": (
        "a.lua",
        'local store = require("store")\n\nlocal x = store.▮\n',
        {"store.lua": "local M = {}\nfunction M.lend(book, reader)\n" + "  go()\n" * 9 + "end\nreturn M\n"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_found(ask: Ask, case: str) -> None:
    path, document, files = CASES[case]
    context = ask(path, document, files)
    (file,) = context.files
    assert file["path"] == next(iter(files))
    assert "lend" in file["text"]
    assert "reader" in file["text"]
    assert "go()" not in file["text"]
    assert all(re.search("here$|imported$|cursor$", part.why) for part in context.others)


LARGE = "class Shelf:\n" + "".join(
    f"    def member{n}(self, one: int, other: str) -> None:\n        go()\n\n" for n in range(50)
)


@pytest.mark.parametrize(
    "document",
    ["from shelf import Shelf\nShelf.▮\n", "from shelf import Shelf\n\ndef f(shelf: Shelf):\n    shelf.mem▮\n"],
)
def test_all_that_can_come_after_the_dot(ask: Ask, document: str) -> None:
    (file,) = ask("a.py", document, {"shelf.py": LARGE}).files
    assert all(f"member{number}" in file["text"] for number in range(50))


def test_nothing_that_is_not_asked_for(ask: Ask) -> None:
    context = ask("a.py", "from lending.store import Store\n\nx = ▮\n", {"lending/store.py": STORE})
    assert "unrelated_helper" not in context.files[0]["text"]
    assert ask("b.py", "import os\n\nx = ▮\n").files == []


def test_a_name_that_many_files_define(ask: Ask) -> None:
    files = {f"p{number}.py": "def run_all(a):\n    return a\n" for number in range(9)}
    assert ask("a.py", "x = run_all(▮)\n", files).files == []
    context = ask("a.py", "from p3 import run_all\nx = run_all(▮)\n", files)
    assert [file["path"] for file in context.files] == ["p3.py"]


def test_of_many_the_one_that_is_imported_from_nearest(ask: Ask) -> None:
    files = {f"apps/p{n}/models.py": f"class User:\n    field{n} = 1\n" for n in range(9)}
    context = ask("apps/p3/views.py", "from .models import User\n\nx = User(▮)\n", files)
    assert [file["path"] for file in context.files] == ["apps/p3/models.py"]


def test_a_member_that_many_classes_have_is_that_of_a_class_that_is_named(ask: Ask) -> None:
    files = {f"p{n}/apps.py": f"class Config{n}:\n    label = 'p{n}'\n" for n in range(9)}
    assert ask("a.py", "from django.apps import apps\n\nx = apps.all()[0].label ▮\n", files).files == []
    context = ask("a.py", "from p3.apps import Config3\n\nx = Config3.label ▮\n")
    assert [file["path"] for file in context.files] == ["p3/apps.py"]
    files = {f"lib{n}/a.go": f"package lib\n\nfunc (w *Writer{n}) Size() int {{\n\treturn {n}\n}}\n" for n in range(9)}
    assert ask("lib/b.go", "package lib\n\nfunc f() { return x.Size(▮) }\n", files).files == []


def test_a_name_that_is_imported_from_elsewhere(ask: Ask) -> None:
    files = {"admin/utils.py": "def quote(s):\n    return s\n"}
    assert ask("a.py", "from urllib.parse import quote\n\nx = quote(▮)\n", files).files == []


def test_in_c_a_header_is_not_shown_whole(ask: Ask) -> None:
    header = "struct other;\nstruct tree {\n  struct other *first;\n  int size;\n};\n" + "".join(
        f"int tree_call{n}(struct tree *t);\n" for n in range(9)
    )
    context = ask("a.c", '#include "tree.h"\n\nint f(struct tree *t) { return t->▮; }\n', {"tree.h": header})
    (file,) = context.files
    assert "int size" in file["text"]
    assert "tree_call" not in file["text"]


def test_not_what_the_file_defines_itself(ask: Ask) -> None:
    files = {"b.py": "def helper(a):\n    return a\n"}
    assert ask("a.py", "from b import *\n\ndef helper(c):\n    return c\n\nx = helper(▮)\n", files).files == []


def test_a_share_of_the_budget(ask: Ask) -> None:
    files = {
        f"m{n}.py": f"class Thing{n}:\n" + "".join(f"    def f{i}(self, a, b): go(a, b) or go(b)\n" for i in range(60))
        for n in range(20)
    }
    document = "".join(f"from m{n} import Thing{n}\n" for n in range(20)) + "x = 1\n" * 500 + "y = Thing1(▮)\n"
    context = ask("a.py", document, files)
    assert 100 < sum(part.tokens for part in context.others) <= 0.35 * 1024
    assert any("Thing1:" in part.text for part in context.others)


def test_a_file_that_vanished_is_not_shown(ask: Ask, project: Path) -> None:
    files = {"store.py": STORE}
    document = "from store import Store\n\nx = ▮\n"
    assert ask("a.py", document, files).files
    (project / "store.py").unlink()
    workspace = Workspace(project)
    before, after = document.split("▮")
    assert workspace.context(project / "a.py", before, after).files == []
