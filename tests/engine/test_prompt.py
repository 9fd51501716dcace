from dataclasses import replace

import pytest

from dlsp_engine.errors import EngineError
from dlsp_engine.text.prompt import File, Gap, prompt
from dlsp_engine.text.template import FORMATS, Fim, Template, found
from dlsp_engine.text.tokenizer import ByteTokenizer, ModelTokenizer, Tokenizer

T = ByteTokenizer()


def shown(gap: Gap, tokenizer: Tokenizer = T) -> str:
    names = {T.prefix: "<P>", T.suffix: "<S>", T.middle: "<M>", T.repository: "<R>", T.file: "<F>", T.end: "<B>"}
    tokens = prompt(gap, tokenizer).tokens
    return "".join(names.get(token) or tokenizer.decode([token]) for token in tokens)


def test_template():
    assert shown(Gap("a = ", "\nb")) == "<P>a =<S>\nb<M>"
    assert shown(Gap("a\n", "\nb")) == "<P>a\n<S>\nb<M>"


def test_a_cut_word_moves_into_the_middle_and_its_last_token_is_given_back():
    gap = Gap("import os\nos.pa", ")")
    assert shown(gap) == "<P>import os\nos.<S>)<M>p"
    assert prompt(gap, T).forced == b"a"
    assert shown(Gap("os.pa", ")", middle="th.j")) == "<P>os.<S>)<M>path."


def test_typing_keeps_the_prompt():
    """P and S are the anchor's; only the middle grows."""
    anchor = shown(Gap("x = so", "\n"))
    for typed in ("r", "rt", "rted(", "rted(x"):
        assert shown(Gap("x = so", "\n", typed)).startswith(anchor[:-1])


def test_other_files_come_first_in_the_repository_format():
    gap = Gap("a\n", "", path="b.py", files=(File("a.py", "x = 1\n"),))
    assert shown(gap) == "<R>repository\n<F>a.py\nx = 1\n<F>b.py\n<P>a\n<S><M>"


class Other(ByteTokenizer):
    """With another template."""

    def __init__(self, template: Template) -> None:
        super().__init__()
        self.template = template


def test_the_suffix_first_and_no_token_before_the_middle():
    gap = Gap("a\n", "z", "mid", path="b.py", files=(File("a.py", "x = 1\n"),))
    seed = Other(Template((), Fim(T.prefix, T.suffix, T.middle, suffix_first=True)))
    assert shown(gap, seed) == "<S>z<P>a\n<M>mi", "no token separates files: there are none"
    codestral = Other(Template((T.end,), Fim(T.prefix, T.suffix, None, suffix_first=True)))
    assert shown(gap, codestral) == "<B><S>z<P>a\nmi"


def test_the_path_within_the_prefix():
    gap = Gap("a\n", "z", path="b.py", files=(File("a.py", "x = 1\n"),))
    fim = Fim(T.prefix, T.suffix, T.middle, path_inside=True)
    assert shown(gap, Other(Template((), fim, T.repository, T.file))) == (
        "<R>repository\n<F>a.py\nx = 1\n<F><P>b.py\na\n<S>z<M>"
    )
    assert shown(Gap("a\n", "z", path="b.py"), Other(Template((), fim, T.repository, T.file))) == "<P>a\n<S>z<M>"
    assert shown(gap, Other(Template((), fim, T.repository, T.file).with_suffix_first())) == (
        "<R>repository\n<F>a.py\nx = 1\n<F>b.py\n<S>z<P>a\n<M>"
    ), "as Mellum has it"


def test_without_tokens_for_gaps_only_the_end_of_a_file_is_completed():
    plain = Other(Template((T.end,), None, T.repository, T.file))
    gap = Gap("a = so", " \n\n", "rt", path="b.py", files=(File("a.py", "x = 1\n"),))
    assert shown(gap, plain) == "<B><R>repository\n<F>a.py\nx = 1\n<F>b.py\na = sor"
    assert prompt(gap, plain).forced == b"t"
    with pytest.raises(EngineError, match="only at the end of a file"):
        prompt(replace(gap, suffix="\n)"), plain)


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_found_by_its_tokens(name: str):
    names = FORMATS[name].names
    added = {each: number for number, each in enumerate(["<s>", "<file_sep>", *names])}
    template = found(added, (0,))
    assert template.fim
    marks = [template.fim.prefix, template.fim.suffix, template.fim.middle]
    assert marks == [2, 3, 4 if FORMATS[name].middle else None]
    assert (template.start, template.file, template.repository) == ((0,), 1, None)
    del added[names[1]]
    assert found(added).fim is None, "all of them are needed"


def test_an_empty_file_is_known_by_its_path():
    assert shown(Gap("\n", "\n", path="new.go")) == "<R>repository\n<F>new.go\n<P>\n<S>\n<M>"
    assert shown(Gap("", "", "pac", path="new.go")) == "<R>repository\n<F>new.go\n<P><S><M>pa"
    assert shown(Gap("", "")) == "<P><S><M>"
    assert shown(Gap("", "x", path="new.go")) == "<P><S>x<M>"


@pytest.mark.parametrize("start", [b"a", b"\xff", b"z" * 3])
def test_healing_offers_what_begins_with_the_text_or_is_its_beginning(start: bytes):
    every = [i for i in range(256) if T.token_bytes(i).startswith(start) or start.startswith(T.token_bytes(i))]
    assert sorted(T.completions(start).tolist()) == every


@pytest.mark.model
def test_the_real_vocabulary(gguf, tmp_path):
    from gguf import GGUFReader

    from dlsp_engine.text.from_gguf import tokenizer_from_gguf

    tokenizer_from_gguf(GGUFReader(gguf)).save(str(tmp_path / "tokenizer.json"))
    tokenizer = ModelTokenizer(tmp_path)
    text = "def f(x):\n\treturn 'é日本' <|endoftext|><|fim_middle|><tool_call>\r\n"
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    tokens.append(max(tokenizer.stops))
    assert tokenizer.encode(text) == tokens[:-1], "what is kept is nobody's to change"
    assert tokenizer.cached.cache_info().hits == 1
    assert not tokenizer.stops & set(tokens[:-1]), "special tokens in a source file are plain text"
    assert prompt(Gap("", "", "<tool_call>"), tokenizer).forced, "and are seen when they were typed"
    heals = {tokenizer.token_bytes(t) for t in tokenizer.completions(b"retu").tolist()}
    assert heals >= {b"return", b"re", b"r"}
    assert all(h.startswith(b"retu") or b"retu".startswith(h) for h in heals)
