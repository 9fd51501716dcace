"""Files written all of it or nothing."""

import shutil
from pathlib import Path
from tempfile import NamedTemporaryFile


def write(file: Path, content: bytes) -> None:
    """Put `content` in the file's place; the mode stays. OSError leaves the file as it was and nothing beside it."""
    file = file.resolve()
    new = NamedTemporaryFile("wb", dir=file.parent, prefix=".dlsp-", delete=False)  # noqa: SIM115 - closed below
    try:
        with new:
            new.write(content)
        if file.exists():
            shutil.copymode(file, new.name)
        Path(new.name).replace(file)
    except BaseException:
        Path(new.name).unlink(missing_ok=True)
        raise
