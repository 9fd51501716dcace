"""What layouts and times are kept by."""

from dlsp_engine.machine import machine, named

X86 = "processor\t: 0\nmodel name\t: AMD EPYC 9B45\n\nprocessor\t: 1\nmodel name\t: another\n"
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n"


def test_a_processor_is_distinguished_from_another():
    assert named(X86) == "AMD EPYC 9B45"
    assert named(ARM) == "0x41 0xd40 0x1"
    assert named(ARM.replace("0xd40", "0xd4f")) != named(ARM)
    assert named("") == ""


def test_this_one_has_a_name():
    assert all(machine()[key] for key in ("processor", "capability", "torch"))
