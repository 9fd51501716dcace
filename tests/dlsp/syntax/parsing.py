"""`python -m tests.dlsp.syntax.parsing LANGUAGE SECONDS`: parse documents, each in a process of its own.

Standard input is JSON: a list of texts. Standard output is JSON: for each the signal that ended its process, 0 for
none. After so many seconds a process is ended by SIGALRM.
"""

import json
import os
import signal
import sys

from dlsp.syntax.languages import LANGUAGES
from dlsp.syntax.source import Source


def main() -> None:
    language = next(each for each in LANGUAGES if each.name == sys.argv[1])
    Source(language, None).update("")  # the grammar is loaded once
    print(json.dumps([_signal(Source(language, None), text, float(sys.argv[2])) for text in json.load(sys.stdin)]))


def _signal(source: Source, text: str, seconds: float) -> int:
    child = os.fork()
    if not child:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        source.update(text)
        source.update(text + " a")
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main()
