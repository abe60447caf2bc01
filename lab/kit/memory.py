"""The memory of this process as Linux counts it; `getrusage` would count the parent before exec too (proc(5))."""

from pathlib import Path
from typing import Literal


def memory(name: Literal["VmRSS", "VmHWM"]) -> int:
    """Return a figure of this process's memory in bytes: `VmRSS` is what it holds, `VmHWM` the most it held."""
    return 1024 * int(Path("/proc/self/status").read_text().partition(f"{name}:")[2].split()[0])


def peak_mb() -> int:
    """Return the most that this process held, in MB of 2^20 bytes."""
    return memory("VmHWM") >> 20


def forget_peak() -> None:
    """Let the peak begin at the memory of now (clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")
