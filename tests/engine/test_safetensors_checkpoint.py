"""Checkpoints in folders, as transformers writes them: dtypes, shards and positions, and what is refused."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from dlsp_engine.errors import EngineError
from dlsp_engine.model import convert
from dlsp_engine.model.safetensors_checkpoint import Safetensors
from dlsp_engine.model.source import Description, StoredWeights
from tests.engine import as_gguf
from tests.engine.test_family_table import dense, difference, no_tokenizer  # noqa: F401 - the last is a fixture

pytestmark = pytest.mark.usefixtures("no_tokenizer", "one_thread")

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 100.0,
    "original_max_position_embeddings": 16,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


def saved(folder: Path, made: Any, dtype: torch.dtype = torch.float32, shard: str = "50GB") -> Path:
    copy.deepcopy(made).to(dtype).save_pretrained(folder, max_shard_size=shard)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "m", as_gguf.model("qwen2"))


def test_of_a_sliding_window_only_the_first_is_taken(tmp_path: Path):
    made = as_gguf.model("starcoder2", sliding_window=20, max_position_embeddings=64)
    model = dense(saved(tmp_path / "m", made), tmp_path)
    assert difference(model, made) < 1e-4, "as many tokens"
    assert model.shape.context == 20


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_logits_of_weights_in_16_bits_and_in_shards(tmp_path: Path, dtype: torch.dtype):
    made = as_gguf.model("qwen2")
    folder = saved(tmp_path / "m", made, dtype, shard="60KB")
    assert len([*folder.glob("*.safetensors")]) > 2
    assert difference(dense(folder, tmp_path), made) < (1e-4 if dtype == torch.bfloat16 else 2e-3)


@pytest.mark.parametrize(
    "rope", [LLAMA3, {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}, {"rope_theta": 1e6}]
)
def test_positions(tmp_path: Path, rope: dict[str, Any]):
    made = as_gguf.model("llama", head_dim=16, rope_parameters={"rope_type": "default"} | rope)
    folder = saved(tmp_path / "m", made)
    assert difference(dense(folder, tmp_path), made) < 1e-4
    rewrite(folder, rope_parameters={"rope_type": "default", "rope_theta": 10.0})
    assert difference(dense(folder, tmp_path), made) > 1e-2, "how positions turn tells"


def test_positions_as_older_libraries_name_them(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    del config["rope_parameters"]
    older = config | {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.0}}
    (folder / "config.json").write_text(json.dumps(older))
    shape = Safetensors(folder).architecture
    assert (shape.theta, set(shape.rope_divisors)) == (500.0, {2.0})


def test_the_embedding_is_read_from_the_shard_that_holds_it(tmp_path: Path):
    made = as_gguf.model("llama")
    folder = saved(tmp_path / "m", made, torch.bfloat16, shard="60KB")
    about = Description.load(convert.converted(folder, tmp_path, dense=False) / convert.ABOUT)
    weights = StoredWeights(folder, about, None)
    for ours, theirs in ((weights.embedding, made.model.embed_tokens), (weights.head, made.lm_head)):
        assert torch.equal(ours[torch.tensor([3, 261])], theirs.weight[[3, 261]].bfloat16())


def test_a_changed_file_is_converted_anew_and_a_copy_is_not(tmp_path: Path, folder: Path):
    first = convert.converted(folder, tmp_path, lambda line: None, dense=False)
    same = saved(tmp_path / "copies" / "m", as_gguf.model("qwen2"))
    assert convert.converted(same, tmp_path, lambda line: None, dense=False) == first
    change(folder, lambda tensors: tensors["model.norm.weight"].zero_())
    assert convert.converted(folder, tmp_path, lambda line: None, dense=False) != first


def rewrite(folder: Path, **values: Any) -> None:
    """Change values of config.json; None removes one."""
    config = json.loads((folder / "config.json").read_text()) | values
    (folder / "config.json").write_text(json.dumps({key: each for key, each in config.items() if each is not None}))


def change(folder: Path, how: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    how(tensors)
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"model_type": "mamba"}, "a model of the family mamba, and the engine runs"),
        ({"model_type": None}, "family unknown"),
        ({"auto_map": {"AutoModel": "modeling_dream.DreamModel"}}, "needs code from its repository"),
        ({"architectures": ["Qwen2ForSequenceClassification"]}, "writes no text"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantised by awq; take its GGUF"),
        ({"hidden_act": "gelu"}, "'gelu' for hidden_act"),
        ({"use_sliding_window": True}, "True for use_sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "a part of the text only"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "scaled by 'yarn'"),
        ({"rope_parameters": {"rope_type": "linear", "factor": 0}}, "0 for factor"),
        ({"rope_parameters": {"rope_theta": 1e300}}, "for rope_theta"),
        ({"num_hidden_layers": 2**40}, "for num_hidden_layers"),
        ({"num_hidden_layers": 1_000_000}, "layers, and it has 27 tensors"),
        ({"num_hidden_layers": 1}, "model.layers.1"),
        ({"num_attention_heads": 3}, "do not go with each other"),
        ({"hidden_size": "64"}, "64 for hidden_size"),
        ({"hidden_size": 128}, "has the shape"),
        ({"vocab_size": 300}, "300 tokens, and its embedding has 262 rows"),
        ({"rms_norm_eps": None}, "None for rms_norm_eps"),
        ({"tie_word_embeddings": True}, "lm_head.weight is the embedding, and it is not"),
    ],
)
def test_what_a_configuration_must_not_say(folder: Path, values: dict[str, Any], reason: str):
    config = json.loads((folder / "config.json").read_text()) | values
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(EngineError) as refused:
        Safetensors(folder)
    assert reason in str(refused.value)
    assert str(refused.value).startswith("The engine cannot run m: ")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (lambda t: t.pop("model.layers.1.mlp.up_proj.weight"), "no tensor model.layers.1.mlp.up_proj.weight"),
        (lambda t: t.pop("model.embed_tokens.weight"), "no tensor model.embed_tokens.weight"),
        (lambda t: t.update({"score.weight": torch.zeros(2)}), "a tensor score.weight, which the engine does not know"),
        (lambda t: t.update({"model.norm.weight": torch.zeros(63)}), "model.norm.weight has the shape [63], and [64]"),
        (lambda t: t.update({"model.norm.weight": torch.zeros(64, dtype=torch.int8)}), "of the dtype I8"),
        (lambda t: t.update({"model.norm.weight": torch.zeros(64, dtype=torch.float64)}), "of the dtype F64"),
    ],
)
def test_what_tensors_must_not_be(folder: Path, how: Callable, reason: str):
    change(folder, how)
    with pytest.raises(EngineError) as refused:
        Safetensors(folder)
    assert reason in str(refused.value)


def test_buffers_of_old_libraries_are_passed_over(folder: Path):
    change(folder, lambda t: t.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(4)}))
    assert Safetensors(folder).architecture.layers == 2


def test_a_copy_of_the_embedding_may_be_stored_as_the_head(tmp_path: Path):
    folder = saved(tmp_path / "m", as_gguf.model("qwen2", tied=True))
    change(folder, lambda t: t.update({"lm_head.weight": t["model.embed_tokens.weight"].clone()}))
    assert Safetensors(folder).architecture.tied


def test_pickled_weights_are_never_read(folder: Path):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(EngineError, match=r"pickled \(pytorch_model.bin\), which the engine never reads"):
        Safetensors(folder)
