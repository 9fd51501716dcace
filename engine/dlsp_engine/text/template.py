"""The special tokens that a checkpoint's prompts are made of, found by their names in its own vocabulary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dlsp_engine.errors import EngineError


@dataclass(frozen=True)
class Format:
    """A fill-in-the-middle format, by the names of its tokens. An empty `middle`: the middle follows the prefix."""

    prefix: str
    suffix: str
    middle: str
    suffix_first: bool = False
    path_inside: bool = False  # the path of the gap's file stands behind the prefix's token, not before it
    end: str = ""  # the token that ends a middle, if it is one of its own

    @property
    def names(self) -> list[str]:
        return [name for name in (self.prefix, self.suffix, self.middle, self.end) if name]


FORMATS = {
    "qwen": Format("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "starcoder": Format("<fim_prefix>", "<fim_suffix>", "<fim_middle>", path_inside=True),
    "deepseek": Format("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    "codellama": Format("▁<PRE>", "▁<SUF>", "▁<MID>", end="▁<EOT>"),
    "seed-coder": Format("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", suffix_first=True),
    "glm": Format("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    "codestral": Format("[PREFIX]", "[SUFFIX]", "", suffix_first=True),
}

# Before the repository's name, and before the path of each file. The first name that a vocabulary has counts.
REPOSITORY = ("<|repo_name|>", "<repo_name>", "<reponame>")
FILE = ("<|file_sep|>", "<|file_separator|>", "<file_sep>", "<filename>")


@dataclass(frozen=True)
class Fim:
    """The tokens of a fill-in-the-middle format. Without `middle`, the middle follows the prefix."""

    prefix: int
    suffix: int
    middle: int | None
    suffix_first: bool = False
    path_inside: bool = False

    def around(self, prefix: list[int], suffix: list[int]) -> list[int]:
        """Return the prompt of a gap with these tokens before and behind it, up to where the middle begins."""
        before, behind = [self.prefix, *prefix], [self.suffix, *suffix]
        parts = [*behind, *before] if self.suffix_first else [*before, *behind]
        return parts if self.middle is None else [*parts, self.middle]


@dataclass(frozen=True)
class Template:
    """The special tokens of prompts, by their ids; None where the checkpoint has none. `start` are the tokens that
    every text begins with. Without `fim` the checkpoint only writes on from left to right.
    """

    start: tuple[int, ...] = ()
    fim: Fim | None = None
    repository: int | None = None
    file: int | None = None

    def with_suffix_first(self) -> "Template":
        """The template with the suffix before the prefix, and the path of the gap's file before both."""
        return replace(self, fim=self.fim and replace(self.fim, suffix_first=True, path_inside=False))

    def separator(self) -> int:
        """Return the token before each file. Raises EngineError if there is none."""
        if self.file is None:
            raise EngineError("This model cannot rewrite code: its vocabulary has no token that separates files.")
        return self.file


def format_of(token: Callable[[str], int | None]) -> Format | None:
    """Return the format whose tokens are all in a vocabulary, in which the name of a token has the id `token(name)`."""
    return next((one for one in FORMATS.values() if all(token(name) is not None for name in one.names)), None)


def found(added: Mapping[str, int], start: tuple[int, ...] = ()) -> Template:
    """Return the template of a vocabulary with these added tokens: name -> id."""

    def first(names: tuple[str, ...]) -> int | None:
        return next((added[name] for name in names if name in added), None)

    fim, one = None, format_of(added.get)
    if one:
        middle = added[one.middle] if one.middle else None
        fim = Fim(added[one.prefix], added[one.suffix], middle, one.suffix_first, one.path_inside)
    return Template(start, fim, first(REPOSITORY), first(FILE))
