"""llama.cpp under llama.vim's policy: its window, its cache of answers, its speculative requests, its defaults.

As documented in its help and README and read in its source (January 2026). What differs: the cost of Vim itself is not
counted, and sampling has a fixed seed.
"""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import httpx

from bench.replay.contender import Place, Shown, Work
from bench.replay.ring import Ring
from bench.replay.scripts import Script

PREFIX, SUFFIX = 256, 64
"""Lines of the window."""
PREDICT, PROMPT_MS, FIRST_MS, NEXT_MS = 128, 500, 250, 1000
"""Tokens; milliseconds for a prompt (which llama.cpp's server does not heed), for a first and a speculative answer."""
LINE_SUFFIX = 8
"""With more characters than this to the right of the cursor, nothing is asked."""
KEYS, BACK = 250, 128
"""Answers kept; characters typed since an answer that are looked back over."""
AGAIN_S = 0.1
STILL_S, UPDATE_S = 3.0, 1.0
"""The ring is updated so often once the cursor has been still for so long."""
SAMPLING = {"top_k": 40, "top_p": 0.9, "samplers": ["top_k", "top_p", "infill"], "seed": 1}


@dataclass(frozen=True)
class Window:
    """What is sent of a document. `above` and `below` are whole lines, `line` the cursor's up to it."""

    above: tuple[str, ...]
    line: str
    rest: str
    below: tuple[str, ...]

    def key(self, dropped: int = 0, cut: int = 0) -> str:
        """Under what an answer is kept; without the first lines, or the last characters before the cursor."""
        before = "".join(f"{each}\n" for each in self.above[dropped:]) + self.line
        return before[: len(before) - cut] + "\0" + self.rest + "\n" + "\n".join(self.below)


def window(place: Place, inserted: str = "") -> Window:
    """The window around the cursor, as if `inserted` had been accepted."""
    lines, rest = (place.before + inserted).split("\n"), place.after.partition("\n")[0]
    above, line = lines[:-1], lines[-1]
    below = place.after.split("\n")[1:]
    if inserted:
        line, rest = line + rest, ""  # it stands at the end of the line then
    elif not (line + rest).strip():
        line = rest = ""
    return Window(tuple(above[-PREFIX:]), line, rest, tuple(below[:SUFFIX]))


class Vim:
    """A contender. `address` is of llama.cpp's server."""

    def __init__(self, address: str) -> None:
        self.work = Work()
        self.quiet = ""
        self._http = httpx.AsyncClient(base_url=address, timeout=300, trust_env=False)
        self._answers: OrderedDict[str, str] = OrderedDict()
        self._ring = Ring(PREFIX, SUFFIX)
        self._folder: str | None = None
        self._name = ""
        self._place = Place("", "")
        self._hint = ""
        self._memory = False
        self._changed = asyncio.Event()
        self._job: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._moved = time.perf_counter()

    async def open(self, script: Script) -> None:
        if self._job:
            await self._job
        self._stop_timer()
        if script.folder != self._folder or not script.folder:
            self._answers.clear()
            self._ring = Ring(PREFIX, SUFFIX)
        elif self._name:
            self._ring.around(self._name, *self._lines())  # the file before is saved and left
        self._folder, self._name, self.work = script.folder, script.path, Work()
        self._place, self._hint = Place("", script.text), ""
        self._ring.around(self._name, *self._lines())

    async def act(self, place: Place) -> None:
        self._place, self._hint, self.quiet = place, "", ""
        self._moved = time.perf_counter()
        self._look(memory=True)
        self._ask("")

    async def wait(self, seconds: float | None) -> Shown | None:
        until = time.perf_counter() + seconds if seconds is not None else None
        while not self._hint and self._busy:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), until and max(0.0, until - time.perf_counter()))
            except TimeoutError:
                break
        if not self._hint and not self._busy:
            self.quiet = "nothing to show"
        return Shown(self._hint, self._memory) if self._hint else None

    async def rest(self, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while self._busy and (left := until - time.perf_counter()) > 0:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                return
        for _ in range(int((until - self._moved - STILL_S) / UPDATE_S)):
            if not self._ring.update():
                return
            await self._post({"input_prefix": "", "input_suffix": "", "prompt": "", "n_predict": 0, "temperature": 0})

    async def close(self) -> None:
        self._stop_timer()
        if self._job:
            await self._job
        await self._http.aclose()

    @property
    def _busy(self) -> bool:
        return self._job is not None or self._timer is not None

    def _look(self, memory: bool) -> None:
        """Show what an answer that is kept says for here, if one does."""
        here = window(self._place)
        before = len("".join(f"{each}\n" for each in here.above) + here.line)
        typed = self._place.before[-BACK:]
        text = self._kept(here.key())
        if text is None:
            kept = ((cut, self._kept(here.key(cut=cut))) for cut in range(1, min(BACK, before) + 1))
            lefts = [said[cut:] for cut, said in kept if said and said.startswith(typed[len(typed) - cut :])]
            text = max(lefts, key=len, default=None)
        if text is None:
            return
        text = self._trimmed(text)
        if text.strip():
            self._hint, self._memory = text, memory
            self._changed.set()
            self._ask(text)

    def _ask(self, inserted: str) -> None:
        """Ask for what comes here, or after a text that is shown, unless that is known; later, while it is busy."""
        if self._job:
            self._stop_timer()
            self._timer = asyncio.get_running_loop().call_later(AGAIN_S, self._again, inserted)
            return
        seen = window(self._place, inserted)
        if len(seen.rest) > LINE_SUFFIX:
            return
        names = [seen.key(dropped) for dropped in range(min(4, len(seen.above) + 1))]
        if any(self._kept(name) is not None for name in names):
            return
        lines, row = self._lines()
        self._ring.make_way(lines, row)
        self._job = asyncio.create_task(self._answered(seen, names, NEXT_MS if inserted else FIRST_MS))
        self._ring.asked(self._name, lines, row)

    def _again(self, inserted: str) -> None:
        self._timer = None
        self._ask(inserted)
        self._changed.set()

    async def _answered(self, seen: Window, names: list[str], milliseconds: int) -> None:
        try:
            asked = {
                "input_prefix": "".join(f"{line}\n" for line in seen.above),
                "prompt": seen.line,
                "input_suffix": seen.rest + "\n" + "\n".join(seen.below) + "\n",
                "n_predict": PREDICT,
                "n_indent": len(seen.line) - len(seen.line.lstrip(" ")),
                "t_max_prompt_ms": PROMPT_MS,
                "t_max_predict_ms": milliseconds,
            }
            text = (await self._post(asked | SAMPLING))["content"]
            for name in names:
                self._answers[name] = text
                self._answers.move_to_end(name)
            while len(self._answers) > KEYS:
                self._answers.popitem(last=False)
        finally:
            self._job = None
            self._changed.set()
        if not self._hint:
            self._look(memory=False)

    async def _post(self, asked: dict[str, Any]) -> dict[str, Any]:
        fixed = {"id_slot": 0, "input_extra": self._ring.extra, "cache_prompt": True, "stream": False}
        answer = (await self._http.post("/infill", json=asked | fixed)).raise_for_status().json()
        timings = answer.get("timings", {})
        computed = timings.get("prompt_n", 0)
        self.work.requests += 1
        self.work.prompt_tokens += computed
        self.work.forwards += timings.get("predicted_n", 0)
        return answer

    def _kept(self, name: str) -> str | None:
        if name in self._answers:
            self._answers.move_to_end(name)
        return self._answers.get(name)

    def _trimmed(self, text: str) -> str:
        """Without what repeats the text that follows, and the indentation that stands on a blank line already."""
        rest, *below = self._place.after.split("\n")
        line = self._place.before.rpartition("\n")[2]
        said = text.rstrip("\n").split("\n")
        if not (line + rest).strip():
            lead = min(len(said[0]) - len(said[0].lstrip()), len(line + rest))
            said[0] = said[0][lead:]
            line = line[:lead]
        if said == [rest] or (said[0] == "" and said[1:] == below[: len(said) - 1]):
            return ""
        while below and not below[0].strip():
            below.pop(0)
        if below and line + said[0] == below[0]:
            nothing_new = len(said) == 2 and len(below) > 1 and below[1].startswith(said[1])
            if len(said) == 1 or nothing_new or said[1:] == below[1 : len(said)]:
                return ""
        return "\n".join(said)

    def _lines(self) -> tuple[list[str], int]:
        """The document's lines and the cursor's row."""
        return (self._place.before + self._place.after).split("\n"), self._place.before.count("\n")

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
