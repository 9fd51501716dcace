"""Record the README's pictures from real runs of the editors, the server and the model: `make pictures`."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
from tests.e2e.pictures import neovim, vscode
from tests.e2e.provide import Missing

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"


async def _start() -> None:
    await (await launch.ensure(DEFAULT)).close()


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        state = Path(name) / "state"
        state.mkdir()
        os.environ["DLSP_STATE_DIR"] = str(state)
        try:
            asyncio.run(_start())
            for record in (neovim.record, vscode.record):
                for path in record(Path(name), state, FOLDER):
                    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
        except (Missing, UserError) as why:
            print(why, file=sys.stderr)
            return 2
        finally:
            asyncio.run(launch.stop(DEFAULT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
