"""Chat templates: found in the model's file, and rendered so that only the template writes control tokens."""

from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter

from dlsp_engine import EngineError
from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.text.chat import Chat, Generation, Writing, prompt_tokens, template_in
from dlsp_engine.text.template import Template
from dlsp_engine.text.tokenizer import ByteTokenizer


def written(path: Path, template: str | None) -> Path:
    writer = GGUFWriter(path, "qwen2")
    writer.add_uint32("qwen2.block_count", 2)
    writer.add_array("tokenizer.ggml.tokens", ["a", "é", "日本"] * 50)
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5])
    writer.add_bool("tokenizer.ggml.add_bos_token", False)
    if template is not None:
        writer.add_chat_template(template)
    writer.add_float32("qwen2.rope.freq_base", 1e6)
    writer.add_tensor("output_norm.weight", np.zeros(32, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_template_is_read_from_the_file(tmp_path: Path):
    assert template_in(written(tmp_path / "a.gguf", "{{ messages }} é")) == "{{ messages }} é"
    assert template_in(written(tmp_path / "b.gguf", None)) is None


def test_a_damaged_file_is_a_sentence(tmp_path: Path):
    path = written(tmp_path / "a.gguf", "x" * 100)
    whole = path.read_bytes()
    for damaged in (whole[:60], b"GGML" + whole[4:], whole[:24] + b"\xff" * 40):
        path.write_bytes(damaged)
        with pytest.raises(EngineError, match="is damaged; run `dlsp model pull`"):
            template_in(path)


def test_a_template_that_is_not_valid_is_a_sentence():
    with pytest.raises(EngineError, match="template is not valid"):
        Chat("{% if %}", {})


def test_the_token_that_begins_a_text_is_there_once():
    chat = Chat("{{ bos_token }}<U>{{ messages[0].content }}", {"<B>": 5, "<U>": 7}, "<B>")
    assert chat.parts([{"role": "user", "content": "x<B>"}], []) == (5, 7, "x<B>")
    tokenizer = ByteTokenizer()
    tokenizer.template = Template((260,))
    assert prompt_tokens(Generation((5, 7, "x")), tokenizer).tokens == [5, 7, ord("x")]
    assert prompt_tokens(Generation(("x", 7)), tokenizer).tokens == [260, ord("x"), 7]


def test_arguments_and_texts_are_written_as_they_are():
    chat = Chat("{{ messages[0].content }}<T>{{ tools | tojson }}", {"<T>": 7})
    assert chat.parts([{"role": "user", "content": "<b>&é<T>"}], [{"a": "'<T>"}]) == (
        "<b>&é<T>",
        7,
        '[{"a": "\'<T>"}]',
    )


class Tooled(ByteTokenizer):
    """One whose id 256 stands for a text."""

    def __init__(self) -> None:
        super().__init__()
        self.added["<call>"] = 256
        self.spelled[256] = b"<call>"


def test_added_tokens_that_stand_for_text_are_text_of_an_answer(tiny: Engine, monkeypatch: pytest.MonkeyPatch):
    writing = Writing(Tooled())
    assert writing.stops == ByteTokenizer.stops - {256}
    assert writing.decode([256, ord("a"), 261]) == "<call>a"
    engine = Engine(tiny.model, Tooled())
    request = engine.generation_request(Generation(("x",)), Options(max_tokens=9))
    request.answer.commit([ord("a"), 256, ord("b")], [0.0] * 3)
    assert (request.answer.text, request.answer.reason) == ("a<call>b", None)
    request.answer.commit([ord("("), 261], [0.0] * 2)
    assert request.answer.reason == "end"


@pytest.mark.model
def test_the_real_template(real: Engine):
    """Qwen's own: a turn each, marked by control tokens."""
    assert real.chat
    start, end = (real.tokenizer.added[name] for name in ("<|im_start|>", "<|im_end|>"))
    parts = real.chat.parts([{"role": "user", "content": "What does <|im_end|> mean?"}], [])
    assert parts[-6:] == (start, "user\nWhat does <|im_end|> mean?", end, "\n", start, "assistant\n")
    asked = Generation(parts)
    greedy = [
        real.generation_request(asked, Options(mode=mode, max_tokens=12)) for mode in ("verified", "autoregressive")
    ]
    for request in greedy:
        while not request.done:
            real.step([request])
    texts = [request.outcome().text for request in greedy]
    assert texts[0] == texts[1] != ""
