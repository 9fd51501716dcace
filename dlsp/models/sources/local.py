"""A file already on this machine, or a folder that contains it: installation without a network."""

import os
from dataclasses import dataclass
from pathlib import Path

from dlsp.models.catalogue import Model
from dlsp.models.disk import chunks, digest, require_space, write
from dlsp.models.progress import Progress
from dlsp.models.sources import Unavailable


@dataclass(frozen=True)
class Local:
    """A local file or folder as a source; the file is linked if possible, else copied."""

    where: Path

    @property
    def name(self) -> str:
        return str(self.where)

    def fetch(self, model: Model, candidate: Path, rest: Path, progress: Progress) -> str:
        file = self.file(model)
        try:
            candidate.unlink(missing_ok=True)
            os.link(file, candidate)
        except OSError:  # on another file system, or links are not supported
            require_space(candidate.parent, model.size)
            return write(chunks(file), candidate, model.size, progress)
        return digest(candidate, model.size, progress)

    def file(self, model: Model) -> Path:
        """The file to use; raises Unavailable if there is none that can be this model's."""
        # Resolved, because a hard link to a symbolic link would itself be a symbolic link.
        file = (self.where / model.file if self.where.is_dir() else self.where).resolve()
        if not file.is_file():
            raise Unavailable(f"has no file {model.file}" if self.where.is_dir() else "does not exist")
        if not os.access(file, os.R_OK):
            raise Unavailable("cannot be read")
        if (size := file.stat().st_size) != model.size:
            raise Unavailable(f"holds {size:,} bytes where {model.short} has {model.size:,}")
        return file
