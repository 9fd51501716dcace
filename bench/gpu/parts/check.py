"""Every kernel against its reference in float64, on fresh random inputs, outputs poisoned. One op in a process."""

import traceback
from collections.abc import Iterator

import torch

from bench.gpu.cases import cases
from bench.gpu.setting import Sample, Setting
from dlsp_kernels.ops import is_devices, reason


def run(setting: Setting, op: str, sizes: str = "all") -> Iterator[Sample]:
    """A case that fails says why and leaves the others be, unless it breaks the device. `sizes` may be `small`."""
    seed = torch.seed()
    for real in (False,) if setting.rehearse or sizes == "small" else (False, True):
        for case in cases(setting.device, real, op):
            sample: Sample = {"name": f"{op}: {case.name}", "seed": seed, "tolerance": case.tolerance}
            try:
                errors = case.check()
                sample |= {"errors": errors, "ok": max(errors.values()) <= case.tolerance}
            except Exception as error:
                sample |= {"ok": False, "failed": reason(error)}
                sample["where"] = traceback.format_exc(limit=-3)[-1500:]
                if is_devices(error):
                    sample["failed"] += " (the device is broken by now: later cases of this op were not run)"
                    yield sample
                    return
            yield sample
