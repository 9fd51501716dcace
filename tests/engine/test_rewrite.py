"""A rewrite is what greedy decoding writes, whatever the window that it is drafted from."""

import random
from dataclasses import dataclass, replace

import pytest

from dlsp_engine.decode.alignment import SURE_TOKENS, Alignment
from dlsp_engine.decode.rewriting import rewritten_plainly
from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.request import GapRequest
from dlsp_engine.rewrite import Change, RewriteRequest, Rewritten, changes, weighed
from dlsp_engine.text.edit_formats.own import Read
from dlsp_engine.text.prompt import File, Gap
from dlsp_engine.text.rewrite import Rewrite, rewrite_prompt
from dlsp_engine.text.tokenizer import ByteTokenizer
from tests.engine.test_shared_steps import Counted

STAYS = 1e6  # nats: a margin that no token has
PARTS = ["def f(x):\n", "    return x\n", "\n", "a = f(1)\n", "b = [1, 2, 3]\n", "é = '日本'\n"]


@dataclass(frozen=True)
class Drafted(Rewrite):
    """A window whose draft is another text than its own."""

    draft: tuple[int, ...] = ()

    def rest(self, tokenizer) -> list[int]:
        return list(self.draft)


def window(rng: random.Random, lines: int = 6) -> Rewrite:
    text = "".join(rng.choices(PARTS, k=rng.randrange(1, lines)))
    return Rewrite(text, text.replace("f", "g"), "c.py", rng.randrange(3), (File("b.py", "import c\n"),))


def rewritten(engine: Engine, *windows: Rewrite, **options) -> list[Rewritten]:
    requests = [engine.rewrite_request(each, Options(**options)) for each in windows]
    while running := [request for request in requests if not request.done]:
        engine.step(running)
    return [request.outcome() for request in requests]


def plainly(engine: Engine, each: Rewrite, most: int) -> list[int]:
    prompt, stops = rewrite_prompt(each, engine.tokenizer).tokens, engine.tokenizer.stops
    old = each.rest(engine.tokenizer)
    written = rewritten_plainly(engine.model, prompt, old, stops, len(old) + most, each.margin, each.force)
    return [token for token in written if token not in stops]


def cut(answer: list[int], old: list[int]) -> list[int]:
    """The answer up to where it comes to the end of the old text, and four tokens more than that has at most."""
    alignment = Alignment(tuple(old))
    for count, token in enumerate(answer):
        if alignment.ended or count == len(old) + 4:
            return answer[:count]
        alignment = alignment.after(token)
    return answer


def spoiled(rng: random.Random, tokens: list[int]) -> list[int]:
    """Some tokens replaced, some missing, some added."""
    found: list[int] = []
    for token in tokens:
        found += rng.choice([[token]] * 9 + [[], [rng.randrange(256)], [token, rng.randrange(256)]])
    return found


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_drafted_the_greedy_text_is_written(tiny: Engine, seed: int):
    """25 windows a seed, 200 in all, each with drafts of five kinds."""
    rng = random.Random(seed)
    for _ in range(25):
        asked = window(rng)
        prompt = rewrite_prompt(asked, tiny.tokenizer).tokens
        answer = rewritten_plainly(tiny.model, prompt, [], tiny.tokenizer.stops, 18)
        right = [token for token in answer if token not in tiny.tokenizer.stops]
        drafts = {
            "right": right[:14],
            "spoiled": spoiled(rng, right)[:14],
            "shifted": right[rng.randrange(1, 4) :][:14],
            "random": [rng.randrange(256) for _ in range(14)],
            "empty": [],
        }
        for kind, draft in drafts.items():
            drafted = Drafted(**vars(asked), draft=tuple(draft))
            options = {"draft": rng.randrange(5), "copy": rng.random() < 0.5, "max_tokens": 4}
            (told,) = rewritten(tiny, drafted, **options)
            assert list(told.tokens) == cut(right, draft), (kind, asked, options)


@pytest.mark.parametrize("margin", [0.05, 0.3, 1.0])
def test_a_margin_decides_alike_however_tokens_are_drafted(tiny: Engine, margin: float):
    rng = random.Random(int(margin * 100))
    changed = 0
    for _ in range(20):
        each = replace(window(rng, 4), margin=margin)
        expected = plainly(tiny, each, 8)
        (told,) = rewritten(tiny, each, max_tokens=8, draft=rng.randrange(5))
        (alone,) = rewritten(tiny, each, max_tokens=8, mode="autoregressive")
        assert list(told.tokens) == list(alone.tokens) == expected
        assert told.doubt == pytest.approx(alone.doubt, abs=1e-3)
        changed += expected != each.rest(tiny.tokenizer)
        assert (told.doubt > margin) == (told.tokens != tuple(each.rest(tiny.tokenizer))), "or it is quiet"
    assert changed


def test_a_window_that_stays_takes_one_forward_and_says_where_it_is_doubted_most(tiny: Engine):
    text = "def f(x):\n    return x\n\n\n"
    one = Rewrite(text, margin=STAYS)
    (told,) = rewritten(tiny, one)
    assert (told.text, told.changes, told.reason) == (text, (), "window")
    assert (told.cost.forwards, told.cost.tokens) == (1, len(text) - 2), "one line break at the end"
    (again,) = rewritten(tiny, replace(one, margin=told.doubt + 0.01))
    assert again.changes == ()
    (other,) = rewritten(tiny, replace(one, margin=told.doubt - 0.01), max_tokens=4)
    assert list(other.tokens[: told.doubted]) == tiny.tokenizer.encode(text[: told.doubted])
    assert list(other.tokens[: told.doubted + 1]) != tiny.tokenizer.encode(text[: told.doubted + 1])


def test_a_window_that_stays_changes_where_it_is_doubted_most_if_that_is_forced(tiny: Engine):
    rng = random.Random(5)
    for _ in range(12):
        one = replace(window(rng, 4), margin=STAYS)
        (quiet,) = rewritten(tiny, one)
        assert quiet.changes == ()
        (left,) = rewritten(tiny, replace(one, force=quiet.doubt + 0.01))
        assert left.changes == (), "it is not doubted that much"
        forced = replace(one, force=quiet.doubt - 0.01)
        (told,) = rewritten(tiny, forced, draft=rng.randrange(5), max_tokens=8)
        (alone,) = rewritten(tiny, forced, mode="autoregressive", max_tokens=8)
        assert list(told.tokens) == list(alone.tokens) == plainly(tiny, forced, 8)
        if told.changes:
            assert all(change.log_p < 0 for change in told.changes)
        at = next(at for at, pair in enumerate(zip(told.tokens, quiet.tokens, strict=False)) if len(set(pair)) > 1)
        assert told.doubted == quiet.doubted == len(one.kept + tiny.tokenizer.decode(list(quiet.tokens[:at])))


def test_a_window_longer_than_a_step_is_read_in_parts(tiny: Engine):
    text = "x = f(1)\n" * 60
    (told,) = rewritten(Counted(tiny.model, tiny.tokenizer), Rewrite(text, margin=STAYS))
    assert told.text == text
    assert told.cost.forwards == 5, "540 rows, 128 in a step"


def test_behind_a_change_the_rest_of_the_window_is_the_draft(tiny: Engine):
    """The answer has one token more, one less or another one in the middle of the draft."""
    rng = random.Random(3)
    found = []
    for _ in range(40):
        asked = window(rng)
        prompt = rewrite_prompt(asked, tiny.tokenizer).tokens
        answer = rewritten_plainly(tiny.model, prompt, [], tiny.tokenizer.stops, 46)
        right = answer[:40]
        if len(answer) < 46 or len(set(right)) < 10:
            continue
        for draft in (right[:15] + right[16:], [*right[:15], 7, *right[15:]], [*right[:15], 7, *right[16:]]):
            drafted = Drafted(**vars(asked), draft=tuple(draft))
            (told,) = rewritten(tiny, drafted, draft=0, copy=False, max_tokens=4)
            assert list(told.tokens) == cut(answer, draft)
            found.append(told.cost.forwards)
        break
    assert found
    assert max(found) <= 10, "of 42: the last ones have no draft"


def test_windows_share_their_prefix_and_their_steps(tiny: Engine):
    files = (File("b.py", "from c import f\n" * 20),)
    windows = [Rewrite(f"x = f({n})\n" * 3, "", f"c{n}.py", files=files) for n in range(6)]
    alone, together = (Counted(tiny.model, tiny.tokenizer) for _ in range(2))
    expected = [rewritten(alone, each, max_tokens=6)[0] for each in windows]
    told = rewritten(together, *windows, max_tokens=6)
    assert [each.tokens for each in told] == [each.tokens for each in expected]
    assert sum(each.cost.cached_tokens for each in told) > 5 * 300
    assert together.rows < 0.5 * alone.rows


def test_a_key_reads_only_the_window_anew(tiny: Engine):
    one = Rewrite("x = f(1)\n", "x = g(1)\n", "c.py", files=(File("b.py", "import c\n" * 30),))
    request = tiny.rewrite_request(one, Options(max_tokens=4))
    while not request.done:
        tiny.step([request])
    typed = tiny.rewrite_request(replace(one, text="x = f(12)\n"), Options(max_tokens=4), request.session)
    assert typed.cost.prompt_tokens - typed.cost.cached_tokens < 40
    assert typed.cost.cached_tokens > 270


@pytest.mark.parametrize("seed", range(4))
def test_rewrites_come_and_go_among_gaps(tiny: Engine, seed: int):
    rng = random.Random(seed)
    engine = Counted(tiny.model, tiny.tokenizer)
    options = Options(max_tokens=6)
    waiting = [*(window(rng) for _ in range(8)), *(Gap("y = 1\n" * n, "\n", path="c.py") for n in range(6))]
    rng.shuffle(waiting)
    running, ended = {}, {}
    while waiting or running:
        if waiting and (not running or rng.random() < 0.3):
            asked = waiting.pop()
            if isinstance(asked, Rewrite):
                running[engine.rewrite_request(asked, options)] = asked
            else:
                running[engine.request(asked, options)] = asked
        for request in engine.step(rng.sample(list(running), len(running))):
            if request.done:
                ended[request] = running.pop(request)
    assert any(isinstance(request, RewriteRequest) for request in ended)
    for request, asked in ended.items():
        if isinstance(request, GapRequest):
            expected = tiny.fill(asked, replace(options, mode="autoregressive")).tokens
        else:
            expected = tuple(plainly(tiny, asked, 6))
        assert request.outcome().tokens == expected


def test_the_prompt_begins_with_what_a_key_does_not_change():
    tokenizer = ByteTokenizer()
    one = Rewrite("a\nb\n\n", "a\n", "d/c.py", 1, (File("b.py", "B"),), (File("edit.diff", "-a\n+b"),), ("no b",))
    text = tokenizer.decode(rewrite_prompt(one, tokenizer).tokens)
    around, window = "b.py\nB\nedit.diff\n-a\n+b\noriginal/d/c.py\na\n", "current/d/c.py\na\nb\nupdated/d/c.py\na\n"
    assert text == around + "diagnostics/d/c.py\nno b\n" + window
    assert tokenizer.decode(one.rest(tokenizer)) == "b\n"


@pytest.mark.parametrize(
    ("text", "keep", "answer", "whole"),
    [
        ("a\nb\n", 1, "c\n", "a\nc\n"),
        ("a\nb", 1, "c\n", "a\nc"),
        ("a\nb\n\n\n", 1, "c\n", "a\nc\n\n\n"),
        ("a\nb\n", 0, "", ""),
        ("a\nb\n", 9, "b\n", "a\nb\n"),
        ("a\nb\n", 9, "", "a\n"),
        ("a\n", 9, "c\n", "c\n"),
        ("", 0, "\n", ""),
        ("", 0, "c\n", "c"),
        ("\n\n", 0, "\n", "\n\n"),
        ("a\r\nb\r\n", 1, "c\r\n", "a\r\nc\r\n"),
    ],
)
def test_the_ends_of_the_window_stay_as_they_are(text: str, keep: int, answer: str, whole: str):
    assert Rewrite(text, keep=keep).whole(answer) == whole


def test_changes_are_as_small_as_they_can_be():
    assert changes("a = add(1)\nb\nc\n", "a = plus(1)\nb\nc\n") == (Change(4, 7, "plus"),)
    assert changes("a\nb\n", "a\nb\n") == ()
    assert changes("a\nb\n", "a\nx\nb\n") == (Change(2, 2, "x\n"),)
    assert changes("f(1)\ng\nf(2)\n", "f(1, 0)\ng\nf(2, 0)\n") == (Change(3, 3, ", 0"), Change(10, 10, ", 0"))


def test_each_change_has_the_probability_of_its_own_tokens():
    """The tokens are `a = `, `pl`, `us`, `(1)\\n`, `x\\n`, `c\\n` and the end."""
    found = changes("a = add(1)\nx\nb\nc\n", "a = plus(1)\nx\nc\n")
    given = [(4, -1.0), (2, -2.0), (2, -4.0), (4, -8.0), (2, -16.0), (2, -32.0), (0, -64.0)]
    assert weighed(found, Read("", 0), given) == (Change(4, 7, "plus", -6.0), Change(13, 15, "", -32.0))
    (one,) = weighed((Change(5, 6, "x"),), Read("", 4), [(1, -1.0), (1, -2.0)])
    assert one.log_p == -2.0, "behind the lines that stay"


@pytest.mark.parametrize(("old", "new"), [("a\r\n", "a\n"), ("a\n", "a\r\n"), ("a\r\n", "a\rb\n"), ("\r\n", "b\r\n")])
def test_no_change_begins_or_ends_inside_a_line_break(old: str, new: str):
    for change in changes(old, new):
        assert "\r\n" not in (old[at - 1 : at + 1] for at in (change.start, change.end) if at)
        assert (old[: change.start] + change.text + old[change.end :]) == new


def test_changes_applied_give_the_new_text():
    rng = random.Random(0)
    for _ in range(300):
        old, new = ("".join(rng.choices(PARTS, k=rng.randrange(7))) for _ in range(2))
        text = old
        for each in reversed(changes(old, new)):
            text = text[: each.start] + each.text + text[each.end :]
        assert text == new


def test_the_old_text_goes_on_behind_what_was_replaced_added_or_taken_out():
    old = tuple(range(10, 30))

    def at(*new: int) -> tuple[int, bool]:
        found = Alignment(old)
        for token in new:
            found = found.after(token)
        return found.at, found.sure

    assert at(10, 11) == (2, True)
    assert at(10, 11, 99) == (3, False), "a guess: token for token"
    assert at(10, 11, 99, 13) == (4, False)
    assert at(10, 11, 99, 13, 14, 15) == (6, True)
    assert at(10, 11, 98, 99, 12, 13, 14) == (5, True)
    assert at(10, 15, 16, 17) == (8, True)
    assert at(*old) == (20, True)
    assert Alignment(old, 18).after(28).after(29).ended
    assert not Alignment(old, 18).after(28).after(77).ended
    changed = Alignment(old).after(77)
    for token in old[1:]:
        changed = changed.after(token)
    assert changed.sure
    assert not changed.ended, "19 tokens that agree may be a coincidence"
    assert at(10, 99, 98, 97, *range(20, 20 + SURE_TOKENS)) == (13, True)


def test_an_answer_that_grows_without_end_changes_nothing(tiny: Engine):
    (told,) = rewritten(tiny, Drafted("a = 1\n", draft=(1, 2)), max_tokens=3)
    assert told.reason == "length"
    assert (told.text, told.changes) == ("a = 1\n", ())
