"""The instructions that programs can be tried with on this machine."""

from dataclasses import replace

from dlsp_kernels.program.instructions import ALL, AVX_VNNI

# The 256-bit programs with VNNI, on a processor that has these instructions as part of AVX-512 alone.
ELSEWHERE = replace(AVX_VNNI, name="AVX-VNNI by AVX-512", features=("avx2", "fma", "avx512vl", "avx512vnni"))

KINDS = [each for each in (*ALL, ELSEWHERE) if each.here()]
