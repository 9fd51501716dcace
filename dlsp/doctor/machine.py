"""Checks of the machine: versions, processor and its features, memory, disk."""

import errno
import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from dlsp import __version__, paths
from dlsp.atomic import probe
from dlsp.doctor.check import Check
from dlsp.engine import state
from dlsp.errors import UserError
from dlsp.models.catalogue import Model

X86_FEATURES = ("avx2", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_bf16", "amx_int8")
ARM_FEATURES = ("asimddp", "bf16", "i8mm", "sve")
PACKAGES = ("torch", "tokenizers", "llvmlite", "pygls", "lsprotocol", "triton")
# The most disk space that a converted model takes, as a multiple of its file's size: in bf16. Int8 takes half of it.
CONVERTED_FILE_SIZES = 3.0


def versions() -> Check:
    """The versions of dlsp, Python, the system and the libraries."""
    packages: dict[str, str] = {}
    for name in PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    system = f"{platform.system()} {platform.release()}"
    said = f"dlsp {__version__}, Python {platform.python_version()}, {system}"
    if "torch" in packages:
        said += f", torch {packages['torch']}"
    data = {"dlsp": __version__, "python": platform.python_version(), "system": system, **packages}
    return Check("versions", True, said, data=data)


def processor() -> Check:
    """The processor, its cores and features, and the GPU."""
    name, features = _processor()
    cores = os.cpu_count() or 1
    card = gpu()
    said = f"{name}, {cores} cores, {' '.join(features) or 'no features that are known'}"
    if card:
        said += f"; {card}"
    data = {"name": name, "cores": cores, "features": features, "gpu": card, "machine": platform.machine()}
    return Check("machine", True, said, data=data)


def memory(model: Model) -> Check:
    """Whether enough memory is free for the model's engine, unless it already runs."""
    import psutil

    have = psutil.virtual_memory()
    need = int(2.2 * model.size_in_4_bits) + 300 * 2**20  # bf16 weights from about 4 bits each, plus working memory
    good = have.available >= need or _runs(model)
    said = f"{have.available / 1e9:.1f} of {have.total / 1e9:.1f} GB free; {model.short} takes about "
    said += f"{need / 1e9:.1f} GB"
    todo = "" if good else "Close other programs, or set a smaller model."
    return Check("memory", good, said, todo, {"available": have.available, "total": have.total, "need": need})


def disk(model: Model) -> Check:
    """Whether the cache folder is writable and has room for the model's conversion."""
    try:
        folder = paths.cache_dir()
    except UserError as error:
        return Check("disk", False, str(error))
    need = 0 if _converted(model) else int(CONVERTED_FILE_SIZES * model.size_in_4_bits)
    try:
        there = _existing(folder)
        free = shutil.disk_usage(there).free
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        probe(there)
    except OSError as error:
        if need == 0 and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            said = f"{folder} is read-only, which serves: {model.short} is converted"
            return Check("disk", True, said, data={"need": 0, "writable": False})
        todo = "Set DLSP_CACHE_DIR to a folder that can be written."
        return Check("disk", False, f"{folder} cannot be written ({error.strerror}).", todo, {"writable": False})
    said = f"{free / 1e9:.1f} GB free for {folder}"
    todo = "" if free >= need else f"Free {need / 1e9:.1f} GB, or set DLSP_CACHE_DIR to a larger disk."
    return Check("disk", free >= need, said, todo, {"free": free, "need": need, "writable": True})


def state_folder() -> Check:
    """Whether the state folder is writable."""
    folder = None
    try:
        folder = paths.state_dir()
        probe(folder)
    except UserError as error:
        return Check("state", False, str(error), "Set DLSP_STATE_DIR to a folder that can be written.")
    except OSError as error:
        todo = "Free some space, or set DLSP_STATE_DIR to a folder that can be written."
        return Check("state", False, f"{folder} cannot be written ({error.strerror}).", todo)
    return Check("state", True, f"{folder} can be written")


def _processor() -> tuple[str, list[str]]:
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip(), []
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine(), []
    name = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    have: set[str] = set(flags[1].split()) if flags else set()
    return (name[1] if name else platform.machine()), [each for each in (*X86_FEATURES, *ARM_FEATURES) if each in have]


def gpu() -> str:
    """The name of the first NVIDIA GPU, "" if there is none."""
    if not (found := shutil.which("nvidia-smi")):
        return ""
    command = [found, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return output.partition("\n")[0].strip()


def _runs(model: Model) -> bool:
    """Whether the model's engine runs and so already has its memory."""
    try:
        return state.alive(model.name)
    except UserError:  # reported by another check
        return False


def _converted(model: Model) -> int:
    """The size of the model's converted weights in bytes; 0 if not converted yet."""
    folders = (paths.cache_dir() / "converted").glob(f"{model.stem}-*")
    return sum(file.stat().st_size for folder in folders for file in folder.glob("*.safetensors"))


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
