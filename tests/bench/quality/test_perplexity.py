"""Perplexity by dtype: what counts of a piece, how dtypes are compared, what llama.cpp's program is asked and says."""

import math
from pathlib import Path

import pytest
import torch

from bench.quality.perplexity import LENGTH, Piece, by_llama, judge, pieces, summary, text
from dlsp.errors import UserError
from dlsp_engine.engine import Engine
from dlsp_engine.model.rows import Rows
from dlsp_engine.train.corpus.shards import Row, append


def test_the_second_half_of_a_piece_counts(tiny: Engine) -> None:
    """As one step over the whole piece says it, token by token."""
    piece = torch.randint(0, 256, (LENGTH,), generator=torch.Generator().manual_seed(0)).tolist()
    found = judge(tiny, piece)
    some = Rows()
    some.add_clean(piece, 0)
    scores = tiny.model.head(tiny.model.forward([(tiny.model.new_cache(), some)])).log_softmax(1)
    at = range(LENGTH // 2, LENGTH - 1)
    assert found.nats == pytest.approx(-sum(float(scores[i, piece[i + 1]]) for i in at) / len(at), rel=1e-4)
    assert found.likeliest == tuple(scores[LENGTH // 2 : -1].argmax(1).tolist())


def test_dtypes_are_compared_piece_by_piece() -> None:
    one, other = Piece(1.0, (1, 2, 3, 4)), Piece(2.0, (1, 2, 3, 5))
    found = summary({"int8": [one, other], "int4": [Piece(1.1, (1, 2, 3, 4)), Piece(2.3, (1, 2, 6, 6))]})
    assert found["int8/perplexity"] == round(math.exp(1.5), 5)
    assert found["int4/more_nats"] == 0.2
    assert (found["int4/more_nats_low"], found["int4/more_nats_high"]) == (0.1, 0.3)
    assert found["int4/same_token"] == 0.75
    assert "int8/more_nats" not in found


def row(package: str, language: str, content: str) -> Row:
    path = f"{package}/a"
    return Row(text=content, path=path, package=package, version="1", language=language, licence="MIT", split="heldout")


def test_the_text_takes_languages_by_turns(tmp_path: Path) -> None:
    append(tmp_path, [], "heldout", [row("p", "python", "p" * 50), row("p", "python", "p" * 50), row("g", "go", "g")])
    assert text(tmp_path, 60) == f"g\n{'p' * 50}\n{'p' * 50}"
    with pytest.raises(UserError, match="101 characters of held-out files; 200 are needed"):
        text(tmp_path, 200)


def test_a_text_that_is_too_short_is_refused(tiny: Engine) -> None:
    with pytest.raises(UserError, match=r"tokens; 1024 are needed"):
        pieces(tiny, "a" * 600, 2)


def test_llamas_program_is_asked_for_the_same_pieces(tmp_path: Path) -> None:
    program = tmp_path / "llama-perplexity"
    program.write_text(
        '#!/bin/sh\necho "$@" > "$(dirname "$0")/asked"; echo "Final estimate: PPL = 4.5000 +/- 0.1250" >&2\n'
    )
    program.chmod(0o755)
    assert by_llama(program, Path("m.gguf"), "text", 3) == {
        "llama.cpp/perplexity": 4.5,
        "llama.cpp/perplexity_error": 0.125,
    }
    assert (tmp_path / "asked").read_text().endswith(f"-c {LENGTH} --chunks 3\n")


def test_a_program_without_an_estimate_is_quoted(tmp_path: Path) -> None:
    program = tmp_path / "llama-perplexity"
    program.write_text("#!/bin/sh\necho no such model >&2; exit 1\n")
    program.chmod(0o755)
    with pytest.raises(UserError, match="gave no estimate; its last words: no such model"):
        by_llama(program, Path("m.gguf"), "text", 3)
