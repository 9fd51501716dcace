"""A tiny model that has learned nothing, for replicas: real steps of a real engine, in a millisecond each."""

from dlsp_engine import Engine
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.serve.replica import Replica
from dlsp_engine.text.tokenizer import ByteTokenizer

KV_BYTES = 2**26


def load(model: str, file: str, cache: str, version: str, threads: int, device: str) -> Replica:
    """As `dlsp_engine.serve.replica.load_replica`."""
    shape = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
    engine = Engine(Qwen2(Weights.random(shape), Adapter.random(shape)), ByteTokenizer())
    return Replica(engine, KV_BYTES, model, version, device)
