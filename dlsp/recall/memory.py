"""The last answers of one document."""

from collections import deque

from dlsp.recall.answer import Answer, Rest

MOST = 32


class Memory:
    """Finds the answer that a place continues; the newest that has something left, else one that ends just there."""

    def __init__(self) -> None:
        self._answers: deque[Answer] = deque(maxlen=MOST)

    def add(self, answer: Answer) -> None:
        self._answers.append(answer)

    def remove(self, answer: Answer) -> None:
        """It will not be finished, or was found wrong."""
        if answer in self._answers:
            self._answers.remove(answer)

    def find(self, before: str, after: str) -> tuple[Answer, Rest] | None:
        """The answer and what is left of it at the cursor between `before` and `after`."""
        ended = None
        for answer in reversed(self._answers):
            rest = answer.rest(before, after)
            if rest and rest.text.strip():
                return answer, rest
            ended = ended or ((answer, rest) if rest else None)
        return ended
