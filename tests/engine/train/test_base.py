"""Training of infill updates: gaps apart from each other, the end in every answer, a resumed run is the same run."""

import json
import os
import signal
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file

from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.update import Update
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_engine.train import base, checkpoint, packed
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.fill_trainer import FillTrainer, judge
from dlsp_engine.train.fills import Fill, Fills
from dlsp_engine.train.gaps import ENDS
from dlsp_engine.train.model import LowRanks
from dlsp_engine.train.packed import Packed
from dlsp_engine.train.recipe import FillRecipe
from dlsp_engine.train.trainer import Trainer
from tests.engine.train.conftest import SMALL, tensors

CPU = torch.device("cpu")
END = min(ByteTokenizer.stops)
RECIPE = FillRecipe(
    rank=4,
    tokens=600,
    kinds=dict.fromkeys(ENDS, 1),
    languages={"python": 1, "rust": 1},
    characters=(100, 200, 300),
    warm_up=2,
    lr=1e-2,
)


@pytest.fixture
def fills(corpus: Path) -> Fills:
    return Fills(Documents(corpus, "train", 0), ByteTokenizer(), RECIPE)


def noisy(rank: int = 4, scale: float = 0.02) -> LowRanks:
    """Updates that change something."""
    torch.manual_seed(1)
    found = LowRanks(SMALL, rank)
    for name, value in found.named_parameters():
        if name.endswith(".b"):
            torch.nn.init.normal_(value, std=scale)
    return found


def fill_of(before: str, answer: str) -> Fill:
    request = prompt(Gap(before, ""), ByteTokenizer())
    return Fill(request.tokens, [*request.forced, *answer.encode(), END], "line", "python")


def test_gaps_are_as_the_engine_asks_and_end(fills: Fills) -> None:
    batch = fills.batch(3)
    assert batch == fills.batch(3), "always the same"
    assert batch != fills.batch(4)
    assert 600 <= sum(len(one.prompt) + len(one.answer) for one in batch) <= 600 + RECIPE.whole
    for one in batch:
        assert one.prompt[0] in (ByteTokenizer.prefix, ByteTokenizer.repository)
        assert ByteTokenizer.middle in one.prompt
        assert one.answer[-1] == END
        assert END not in one.answer[:-1]
    draw_canvases = {fills.batch(turn)[0].kind for turn in range(60)}
    assert draw_canvases == set(ENDS)
    held = fills.held_out(2)
    assert [one.kind for one in held] == [kind for kind in ENDS for _ in range(2)]


def test_packages_that_a_recipe_holds_out_are_not_trained_on(corpus: Path) -> None:
    trained = {row["package"] for row in Documents(corpus, "train", 0, ("p1",)).rows}
    judged = {row["package"] for row in Documents(corpus, "heldout", 0, ("p1",)).rows}
    assert (trained, judged) == ({"p0", "p2"}, {"p1", "p3"})


def test_packed_gaps_see_themselves_alone(small: Weights, fills: Fills) -> None:
    batch = fills.batch(0)[:3]
    low = noisy().low(torch.float32)
    together = packed.hidden(small, low, Packed.of(batch, CPU))
    alone = torch.cat([packed.hidden(small, low, Packed.of([one], CPU)) for one in batch])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
    assert len(together) == sum(len(one.answer) for one in batch)


def test_gradients_are_those_of_cross_entropy(small: Weights) -> None:
    torch.manual_seed(0)
    states = torch.randn(7, SMALL.dim, requires_grad=True)
    targets, shares = torch.randint(0, SMALL.vocab, (7,)), torch.tensor([1.0, 1, 1, 3, 1, 1, 3])
    loss = packed.backward(states, small.embedding, targets, shares, chunk=3, scale=0.5)
    found, states.grad = states.grad, None
    each = F.cross_entropy(F.linear(states, small.embedding), targets, reduction="none")
    expected = (each * shares).sum() / shares.sum()
    (expected / 2).backward()
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    torch.testing.assert_close(found, states.grad)


def test_what_was_learned_is_what_the_engine_answers(small: Weights, tmp_path: Path) -> None:
    """Overfitted on three answers, then merged into the weights: the engine writes them, and ends them itself."""
    taught = {"price = ": "cost(7)", "total = sum(": "all", "for one in ": "many:"}
    batch = [fill_of(before, answer) for before, answer in taught.items()]
    torch.manual_seed(0)
    parameters = LowRanks(SMALL, 16)

    class Three(Fills):
        def __init__(self) -> None: ...
        def batch(self, turn: int) -> list[Fill]:
            return batch

    trainer = FillTrainer(small, parameters, Three(), RECIPE, CPU, chunk=16)
    before = judge(small, parameters, batch, CPU)["all"]
    for _ in range(150):
        trainer.advance(1e-2)
    after = judge(small, trainer.late, batch, CPU)["all"]
    assert before.nats > 1 > 0.05 > after.nats
    assert (after.right, after.early, after.late) == (1, 0, 0)
    path = tmp_path / "m.infill-update.safetensors"
    checkpoint.export(path, trainer.late, {})
    changed = tensors(small)
    Update.of(path).add_to(changed, SMALL)
    save_file(changed, tmp_path / "weights.safetensors", {"architecture": SMALL.to_json()})
    engine = Engine(Qwen2(Weights.load(tmp_path, torch.float32)), ByteTokenizer())
    for left, answer in taught.items():
        made = engine.fill(Gap(left, ""), Options(mode="autoregressive", max_tokens=20))
        assert (made.text, made.reason) == (answer, "end")


def test_ends_that_come_too_early_or_not_at_all_are_distinguished(small: Weights) -> None:
    """By what the model says after each token of the answer."""
    low, one = noisy(scale=0.3), fill_of("x(", "abc")
    rows = Packed.of([one], CPU)
    said = F.linear(packed.hidden(small, low.low(torch.float32), rows), small.embedding).argmax(-1).tolist()
    found = judge(small, low, [one], CPU)["line"]
    assert found.gaps == 1
    assert found.tokens == 4
    assert found.late == (said[-1] != END)
    assert found.early == (END in said[:-1])
    assert found.right == sum(a == b for a, b in zip(said, one.answer, strict=True)) / 4


@pytest.fixture
def command(small_weights: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The command's arguments but for --out; its signal handlers are taken back afterwards."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(base, "ModelTokenizer", lambda _: ByteTokenizer())
    recipe = tmp_path / "small.json"
    recipe.write_text(RECIPE.to_json())
    arguments = ["--corpus", str(corpus), "--weights", str(small_weights), "--recipe", str(recipe)]
    arguments += ["--base-sha256", "12ab", "--device", "cpu", "--float32", "--every-step", "--steps", "5"]
    yield [*arguments, "--judge-gaps", "1"]
    for number, handler in handlers.items():
        signal.signal(number, handler)


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_a_resumed_run_takes_the_same_steps(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM at the third step leaves a checkpoint; what goes on from it leaves the very bytes of an unbroken run."""
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    assert base.main([*command, "--out", str(whole)]) == 0
    advance = Trainer.advance

    def ending(self: Trainer[LowRanks], rate: float):
        if self.step == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return advance(self, rate)

    monkeypatch.setattr(Trainer, "advance", ending)
    with pytest.raises(SystemExit, match="Stopped after step 3"):
        base.main([*command, "--out", str(ended)])
    monkeypatch.setattr(Trainer, "advance", advance)
    assert base.main([*command, "--out", str(ended)]) == 0
    left, right = (
        [(line["loss"], line["taught"]) for line in lines(each) if "loss" in line] for each in (whole, ended)
    )
    assert left == right
    assert len(left) == 5
    scored = [[line["step"] for line in lines(each) if "all" in line] for each in (whole, ended)]
    assert scored == [[0, 5], [0, 5]], "a resumed run is not scored again before it goes on"
    assert (
        Update.of(ended / checkpoint.UPDATE).metadata["scores"]
        == Update.of(whole / checkpoint.UPDATE).metadata["scores"]
    )
    one, other = (LowRanks.read(each / checkpoint.UPDATE, SMALL).state_dict() for each in (whole, ended))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert one["layers.1.down.b"].abs().sum() > 0


def test_the_update_says_what_it_was_made_of(command: list[str], tmp_path: Path) -> None:
    assert base.main([*command, "--out", str(tmp_path / "run"), "--version", "one"]) == 0
    path = tmp_path / "run" / checkpoint.UPDATE
    said = Update.of(path).metadata
    assert (said["base"], said["base_sha256"], said["corpus"]) == ("small.gguf", "12ab", "abc")
    assert (said["version"], said["steps"], json.loads(said["recipe"])["rank"]) == ("one", "5", 4)
    assert int(said["tokens"]) == lines(tmp_path / "run")[-2]["taught"]
    assert json.loads(said["scores"])["all"]["gaps"] == len(ENDS)
    assert json.loads(said["canvas_adapters"]) == [], "none has been measured with it"
    with safe_open(path, "pt") as file:
        assert file.get_tensor("layers.0.qkv.a").dtype == torch.bfloat16
    further = [*command, "--from", str(path), "--version", "two", "--out", str(tmp_path / "more")]
    assert base.main(further) == 0
    assert Update.of(tmp_path / "more" / checkpoint.UPDATE).metadata["begun_from"] == "one"


def test_clear_refusals(command: list[str], tmp_path: Path, small: Weights, small_weights: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    merged = tmp_path / "merged"
    merged.mkdir()
    with safe_open(small_weights / "weights.safetensors", "pt") as file:
        metadata = file.metadata() | {"update": sha256(b"one").hexdigest()}
    save_file(tensors(small), merged / "weights.safetensors", metadata)
    with pytest.raises(SystemExit, match="have an infill update in them"):
        base.main([*command, "--weights", str(merged), *out])
    with pytest.raises(SystemExit, match="is no recipe of an infill update"):
        base.main([*command, "--recipe", str(tmp_path / "none.json"), *out])
    for name, text, why in (
        ("other", {"rank": 30_000}, "at most 95 MB"),
        ("lost", {"languages": {"go": 1}}, "no file"),
    ):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(json.loads(RECIPE.to_json()) | text))
        with pytest.raises(SystemExit, match=why):
            base.main([*command, "--recipe", str(path), *out])
    checkpoint.export(tmp_path / "start.safetensors", LowRanks(SMALL, 2), {"base": "small.gguf"})
    with pytest.raises(SystemExit, match="has rank 2, the recipe 4"):
        base.main([*command, "--from", str(tmp_path / "start.safetensors"), *out])
    assert not (tmp_path / "run").exists()


def test_shipped_recipes_can_be_read() -> None:
    recipe = FillRecipe.read("infill-cpu")
    assert recipe.kinds.keys() <= ENDS.keys()
    assert len(recipe.languages) == 8
    with pytest.raises(EngineError, match="no recipe"):
        FillRecipe.read("no-such")
