import pytest

from dlsp_engine.train.corpus import licences
from dlsp_engine.train.corpus.sources.copyright import Copyright


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "Expat",
        "The MIT License (MIT)",
        "Apache Software License",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-3-Clause AND 0BSD AND (MIT OR Zlib)",
        "GPL-2+ or MIT",
        "3-Clause BSD License",
        "Python Software Foundation License",
        "CC0-1.0",
        "public-domain",
    ],
)
def test_permissive(expression: str) -> None:
    assert licences.permissive(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "Unknown",
        "GPL-3.0-only",
        "LGPLv2+",
        "GPLv2 or later",
        "MIT AND GPL-2.0",
        "MIT AND (GPL-2.0 OR LGPL-2.1)",
        "Mozilla Public License 2.0 (MPL 2.0)",
        "CC-BY-SA-4.0",
        "Other/Proprietary License",
        "BUSL-1.1",
        "MIT/GPL-2.0",
        "BSD-3-Clause, non-commercial use only",
    ],
)
def test_not_permissive(expression: str) -> None:
    assert not licences.permissive(expression)


def test_metadata_is_read_in_order() -> None:
    classifiers = ["Topic :: Software", "License :: OSI Approved", "License :: OSI Approved :: MIT License"]
    assert licences.from_metadata("ISC", classifiers, "GPL", []) == "ISC"
    assert licences.from_metadata("", classifiers, "GPL", []) == "MIT License"
    assert licences.from_metadata("", [], "BSD\n", []) == "BSD"
    text = "Copyright\n\nRedistribution and use in source and\nbinary forms, with or without modification"
    assert licences.from_metadata("", [], "UNKNOWN", ["nothing known", text]) == "BSD"
    assert licences.from_metadata("", [], "", []) == ""


def test_a_restriction_in_a_text_counts_before_a_permission() -> None:
    text = '"Commons Clause" License\n\nPermission is hereby granted, free of charge, to any person'
    assert not licences.permissive(licences.from_text(text))


COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2020 A
License: Own

Files: lib/*.c
 tools/old.c
Copyright: 2020 B
License: GPL-2+

License: Own
 Permission is hereby granted, free of charge, to any person obtaining a copy
"""


def test_debian_copyright_holds_by_file() -> None:
    found = Copyright(COPYRIGHT)
    assert found.licence("src/main.c") == "MIT"
    assert found.licence("lib/deep/part.c") == "GPL-2+"
    assert found.licence("tools/old.c") == "GPL-2+"
    assert Copyright("no stanzas at all").licence("src/main.c") == ""
