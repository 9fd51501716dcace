"""llama.cpp under llama.vim's policy: its window, its cache of answers, its speculative requests, its defaults.

As documented in its help and README and read in its source (January 2026). What differs: the cost of Vim itself is not
counted, and sampling has a fixed seed. llama.cpp's time is counted, not waited for: a request takes what its tokens
cost when nothing else runs (see `costs`), so that a busy machine changes nothing but how long the bench lasts.
"""

import heapq
import itertools
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx

from bench.replay.contender import Place, Shown, Work
from bench.replay.costs import Costs
from bench.replay.ring import Ring
from bench.replay.scripts import Script
from bench.replay.window import PREFIX, SUFFIX, trimmed, window

# Tokens of an answer; how long a first and a speculative one may take, once they have a whole line. (There is a limit
# for the prompt too, which llama.cpp's server does not heed.)
PREDICT, FIRST_S, NEXT_S = 128, 0.25, 1.0
# With more characters than this to the right of the cursor, nothing is asked.
LINE_SUFFIX = 8
# Answers kept; characters typed since an answer that are looked back over.
KEYS, BACK = 250, 128
AGAIN_S = 0.1
# The ring is updated so often once the cursor has been still for so long.
STILL_S, UPDATE_S = 3.0, 1.0
SAMPLING = {"top_k": 40, "top_p": 0.9, "samplers": ["top_k", "top_p", "infill"], "seed": 1}


class Vim:
    """A contender. `address` is of llama.cpp's server."""

    def __init__(self, address: str, costs: Costs) -> None:
        self.work = Work()
        self.quiet = ""
        self.costs = costs
        # Each question on a connection of its own: the server closes those on which nobody spoke for a while.
        alone = httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.AsyncClient(base_url=address, timeout=600, trust_env=False, limits=alone)
        self._now = 0.0
        self._events: list[tuple[float, int, Callable[[], Awaitable[None]]]] = []
        self._order = itertools.count()
        self._timer = 0  # the number of the one that counts
        self._working = False
        self._answers: OrderedDict[str, str] = OrderedDict()
        self._ring = Ring(PREFIX, SUFFIX)
        self._folder: str | None = None
        self._name = ""
        self._place = Place("", "")
        self._hint = ""
        self._memory = False
        self._moved = 0.0

    def now(self) -> float:
        return self._now

    async def open(self, script: Script) -> None:
        await self._until(None)
        if script.folder != self._folder or not script.folder:
            self._answers.clear()
            self._ring = Ring(PREFIX, SUFFIX)
        elif self._name:
            self._ring.around(self._name, *self._lines())  # the file before is saved and left
        self._folder, self._name, self.work = script.folder, script.path, Work()
        self._place, self._hint = Place("", script.text), ""
        self._ring.around(self._name, *self._lines())

    async def act(self, place: Place) -> None:
        self._place = replace(place, after=place.closers + place.after)
        self._hint, self.quiet, self._moved = "", "", self._now
        await self._look(memory=True)
        await self._ask("")

    async def wait(self, seconds: float | None) -> Shown | None:
        await self._until(seconds if seconds is None else self._now + seconds, lambda: bool(self._hint))
        if not self._hint and not self._events:
            self.quiet = "nothing to show"
        return Shown(self._hint, self._memory) if self._hint else None

    async def rest(self, seconds: float) -> None:
        until = self._now + seconds
        await self._until(until)
        for _ in range(int((until - self._moved - STILL_S) / UPDATE_S)):
            if not self._ring.update():
                break
            asked = {"input_prefix": "", "input_suffix": "", "prompt": "", "n_predict": 0, "samplers": []}
            await self._answer(asked, 0)
        self._now = max(self._now, until)

    async def close(self) -> None:
        await self._http.aclose()

    async def _until(self, end: float | None, done: Callable[[], bool] = lambda: False) -> None:
        """Let happen what happens up to a time, or until it is `done`; time goes on to there."""
        while not done() and self._events and (end is None or self._events[0][0] <= end):
            self._now, _, happen = heapq.heappop(self._events)
            await happen()
        if end is not None and not done() and self._events:
            self._now = end

    def _at(self, time: float, happen: Callable[[], Awaitable[None]]) -> None:
        heapq.heappush(self._events, (time, next(self._order), happen))

    async def _look(self, memory: bool) -> None:
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
        text = trimmed(text, self._place)
        if text.strip():
            self._hint, self._memory = text, memory
            await self._ask(text)

    async def _ask(self, inserted: str) -> None:
        """Ask for what comes here, or after a text that is shown, unless that is known; later, while it is busy."""
        if self._working:
            self._timer += 1
            number = self._timer

            async def again() -> None:
                if number == self._timer:
                    await self._ask(inserted)

            self._at(self._now + AGAIN_S, again)
            return
        seen = window(self._place, inserted)
        if len(seen.rest) > LINE_SUFFIX:
            return
        names = [seen.key(dropped) for dropped in range(min(4, len(seen.above) + 1))]
        if any(self._kept(name) is not None for name in names):
            return
        self._working = True
        lines, row = self._lines()
        self._ring.make_way(lines, row)
        asked = {
            "input_prefix": "".join(f"{line}\n" for line in seen.above),
            "prompt": seen.line,
            "input_suffix": seen.rest + "\n" + "\n".join(seen.below) + "\n",
            "n_predict": PREDICT,
            "n_indent": len(seen.line) - len(seen.line.lstrip(" ")),
        }
        text, seconds = await self._answer(asked | SAMPLING, NEXT_S if inserted else FIRST_S)

        async def answered() -> None:
            self._working = False
            for name in names:
                self._answers[name] = text
                self._answers.move_to_end(name)
            while len(self._answers) > KEYS:
                self._answers.popitem(last=False)
            if not self._hint:
                await self._look(memory=False)

        self._at(self._now + seconds, answered)
        self._ring.asked(self._name, lines, row)

    async def _answer(self, asked: dict[str, Any], limit_s: float) -> tuple[str, float]:
        """What llama.cpp says and how long that takes it; ended after the limit, but not within the first line."""
        fixed = {"id_slot": 0, "input_extra": self._ring.extra, "cache_prompt": True}
        stream = {"stream": True, "timings_per_token": True}
        text, prompt, tokens = "", 0, 0
        async with self._http.stream("POST", "/infill", json=asked | fixed | stream) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line.startswith("data: {"):
                    continue
                said = json.loads(line.removeprefix("data: "))
                text += said.get("content", "")
                timings = said.get("timings", {})
                prompt, tokens = timings.get("prompt_n", prompt), timings.get("predicted_n", tokens)
                if "\n" in text and tokens * self.costs.token_s > limit_s:
                    break
        self.work.requests += 1
        self.work.prompt_tokens += prompt
        self.work.forwards += tokens
        return text, self.costs.seconds(prompt, tokens)

    def _kept(self, name: str) -> str | None:
        if name in self._answers:
            self._answers.move_to_end(name)
        return self._answers.get(name)

    def _lines(self) -> tuple[list[str], int]:
        """The document's lines and the cursor's row."""
        return (self._place.before + self._place.after).split("\n"), self._place.before.count("\n")
