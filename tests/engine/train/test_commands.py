"""How training commands end when something is missing, damaged, or when they are stopped: by one sentence."""

from pathlib import Path
from types import ModuleType

import pytest

from dlsp_engine.train import ends, evaluate, fill_samples, pair, samples, stack, weights

OF_A_CORPUS = "--corpus {0} --weights {0} --out {0}/out"
COMMANDS = (
    (samples, OF_A_CORPUS),
    (fill_samples, OF_A_CORPUS),
    (evaluate, "--gaps {0}/gaps --weights {0} --adapter {0}/adapter"),
    (ends, "--fills {0} --weights {0} --device cpu"),
    (weights, "--gguf {0}/model.gguf --out {0}/out"),
    (pair, "{0}/weights.safetensors {0}/adapter"),
    (stack, "{0}/weights.safetensors {0}/edit {0}/out"),
)


@pytest.mark.parametrize(("module", "arguments"), COMMANDS, ids=[module.__name__ for module, _ in COMMANDS])
@pytest.mark.parametrize("content", [None, b"damaged"], ids=["missing", "damaged"])
def test_what_a_command_cannot_read_is_said_in_one_sentence(
    module: ModuleType, arguments: str, content: bytes | None, tmp_path: Path
) -> None:
    if content:
        for name in ("weights.safetensors", "tokenizer.json", "model.gguf"):
            (tmp_path / name).write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        module.main(arguments.format(tmp_path).split())
    said = str(ended.value.code)
    assert str(tmp_path) in said
    assert "\n" not in said


def test_a_command_that_is_stopped_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, small_weights: Path) -> None:
    def stopped(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(samples, "ModelTokenizer", stopped)
    with pytest.raises(SystemExit, match="Stopped: run this again to go on"):
        samples.main(OF_A_CORPUS.format(small_weights).split())
