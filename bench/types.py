"""What types and signatures of another language server are worth: `python -m bench.types --gaps 300`.

The gaps are at dots and in argument lists in packages that are installed beside this one: what stood from there on to
the end of the line is taken out, and pyright is asked for the hover and the signature there. Each gap is filled with
what it told in the context and without. Told are the share of suggestions whose first line is what stood there, the
difference with its interval, and the share with a name that stands nowhere (see `bench.names`).
"""

import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from bench.command import guarded, line, loaded, until_stopped, written
from bench.cross_file.gaps import PACKAGES, SHORTEST, copied
from bench.names import NameGap, arguments, chosen, gaps, indexed, unknown
from dlsp.completions import infill
from dlsp.completions.filters import trim
from dlsp.context.asked import place
from dlsp.context.build import LEFT_OUT, build
from dlsp.context.server_answers import Answer, ServerAnswers, above_last_line, line_start
from dlsp.errors import UserError
from dlsp.ignore import Rules
from dlsp.index.store import Store
from dlsp.models import catalogue
from dlsp.syntax import languages
from dlsp.syntax.source import Source
from dlsp_engine.train.bootstrap import interval

if TYPE_CHECKING:
    from dlsp_engine import Engine

SERVER = "pyright-langserver"
# Seconds for one answer; the first one about a package takes longest.
PATIENCE_S = 120
WITH, WITHOUT = "with", "without"


def in_arguments(found: Iterator[NameGap]) -> Iterator[NameGap]:
    """The gaps, those of calls moved behind the bracket."""
    for gap in found:
        name, bracket, rest = gap.right.partition("(")
        if gap.kind == "member":
            yield gap
        elif len(rest) >= SHORTEST:
            yield replace(gap, before=gap.before + name + bracket, right=rest)


@asynccontextmanager
async def language_server(root: Path) -> AsyncIterator[LanguageClient]:
    """A pyright that has a folder open."""
    client = LanguageClient("dlsp-bench", "1")

    @client.feature(types.WORKSPACE_CONFIGURATION)
    def configuration(params: types.ConfigurationParams) -> list[Any]:
        return [None] * len(params.items)

    beside = str(Path(sys.executable).parent)
    program = Path(beside) / SERVER
    if not program.exists():
        raise UserError(f"{SERVER} is not installed beside this Python: `pip install pyright[nodejs]`.")
    await client.start_io(
        str(program), "--stdio", env={**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
    )
    hover = types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown])
    await client.initialize_async(
        types.InitializeParams(
            types.ClientCapabilities(text_document=types.TextDocumentClientCapabilities(hover=hover)),
            root_uri=root.as_uri(),
            workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name)],
        )
    )
    client.initialized(types.InitializedParams())
    try:
        yield client
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


async def asked_about(client: LanguageClient, root: Path, gap: NameGap) -> Answer:
    """What the language server says at a gap, in the file without what stood there."""
    here = place(gap.before)
    document = types.TextDocumentIdentifier((root / gap.path).as_uri())
    item = types.TextDocumentItem(document.uri, "python", 1, gap.before + gap.after)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    hover = signature = None
    async with asyncio.timeout(PATIENCE_S):
        if here.owner:
            at = position(gap.before[: len(gap.before) - here.owner_back])
            hover = await client.text_document_hover_async(types.HoverParams(document, at))
        if here.called:
            params = types.SignatureHelpParams(document, position(gap.before))
            signature = await client.text_document_signature_help_async(params)
    client.text_document_did_close(types.DidCloseTextDocumentParams(document))
    return Answer(text_of(hover), label_of(signature))


def position(before: str) -> types.Position:
    """The end of a text, in UTF-16 units."""
    row = before.rpartition("\n")[2]
    return types.Position(before.count("\n"), len(row.encode("utf-16-le")) // 2)


def text_of(hover: types.Hover | None) -> str:
    return hover.contents.value if hover and isinstance(hover.contents, types.MarkupContent) else ""


def label_of(help: types.SignatureHelp | None) -> str:
    return help.signatures[help.active_signature or 0].label if help and help.signatures else ""


async def answers(taken: Sequence[NameGap], roots: dict[str, Path]) -> list[Answer]:
    """What the language server says at each gap, one server for each package."""
    made: dict[int, Answer] = {}
    for package in sorted({gap.package for gap in taken}):
        async with language_server(roots[package]) as client:
            for number, gap in enumerate(taken):
                if gap.package == package:
                    made[number] = await asked_about(client, roots[package], gap)
    return [made[number] for number in range(len(taken))]


def filled(engine: "Engine", gap: NameGap, answer: Answer, index: Store, root: Path, budget: int) -> dict[str, Any]:
    """What is suggested with the answer and without it."""
    told = ServerAnswers()
    told.note(gap.path, place(gap.before), answer)
    sample: dict[str, Any] = {"place": gap.place, "package": gap.package, "kind": gap.kind, "right": gap.right}
    sample[WITHOUT], _ = suggested(engine, gap, None, index, root, budget)
    sample[WITH], sample["told"] = suggested(engine, gap, told, index, root, budget)
    return sample


def suggested(
    engine: "Engine", gap: NameGap, told: ServerAnswers | None, index: Store, root: Path, budget: int
) -> tuple[dict[str, Any], str]:
    """The suggestion, judged, and the comments in its context."""
    from dlsp_engine import File, Gap, Options

    language = languages.of(gap.path)
    assert language is not None
    comments = told.comments(gap.path, gap.before, gap.after, language, LEFT_OUT) if told else []
    start = line_start(gap.before)
    source, rules = Source(language), Rules(root)
    seen = build(gap.path, gap.before, gap.after, source=source, index=index, rules=rules, budget=budget)
    prefix, suffix = seen.without_end(gap.before[start:]).window
    files = tuple(File(each["path"], each["text"]) for each in seen.files)
    asked = Gap(prefix, suffix, above_last_line(prefix, gap.before[start:], comments), gap.path, files)
    fill = engine.fill(asked, Options(end=infill.end_rule(gap.before), max_tokens=48), engine.new_session())
    text = trim(fill.text, gap.before, gap.after).split("\n")[0].rstrip()
    return {"text": text, "right": text == gap.right, "unknown": unknown(gap, text)}, "\n".join(comments)


def summary(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The shares of all gaps, of each kind, and of those about which something was told."""
    metrics: dict[str, float] = {"gaps": len(samples)}
    metrics["told"] = statistics.mean(bool(each["told"]) for each in samples)
    chosen = {"all": samples, "told": [each for each in samples if each["told"]]}
    chosen |= {kind: [each for each in samples if each["kind"] == kind] for kind in ("member", "call")}
    for name, own in chosen.items():
        if not own:
            continue
        for way in (WITHOUT, WITH):
            metrics[f"{name}/{way}/exact"] = statistics.mean(each[way]["right"] for each in own)
            metrics[f"{name}/{way}/unknown"] = statistics.mean(bool(each[way]["unknown"]) for each in own)
        gains = [float(each[WITH]["right"]) - float(each[WITHOUT]["right"]) for each in own]
        metrics[f"{name}/gain"] = statistics.mean(gains)
        metrics[f"{name}/gain/low"], metrics[f"{name}/gain/high"] = interval([each["package"] for each in own], gains)
    return {name: round(value, 4) for name, value in metrics.items()}


@guarded()
def main() -> int:
    parser = arguments("python -m bench.types", "What types of a language server are worth.")
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    with tempfile.TemporaryDirectory() as temporary:
        roots = {name: root for name in PACKAGES if (root := copied(name, Path(temporary)))}
        found = [gap for root in roots.values() for gap in in_arguments(gaps(root))]
        taken = chosen(found, asked.gaps, asked.seed)
        indexes = indexed(taken, roots, Path(temporary))
        told = asyncio.run(answers(taken, roots))
        engine = loaded(model, asked.dtype)
        filling = (
            filled(engine, gap, answer, indexes[gap.package], roots[gap.package], asked.budget)
            for gap, answer in zip(taken, told, strict=True)
        )
        samples = until_stopped(filling, "gaps", len(taken))
    metrics = summary(samples)
    for name, value in metrics.items():
        print(f"{name}: {value}")
    return written(f"types-{model.name}-{asked.dtype}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
