"""Choice of device and threads for training, audits and prediction."""

from __future__ import annotations

import torch

from lond.errors import ConfigError

ACCELERATORS = ("auto", "cpu", "gpu", "cuda", "mps")
"""What to compute on; "auto" takes the best there is, "gpu" is "mps" or "cuda"."""


def choose_device(accelerator: str = "auto", threads: int = 0) -> torch.device:
    """Return the device of an accelerator name on this machine, and set the number of CPU threads.

    Args:
        accelerator: one of ``ACCELERATORS``.
        threads: CPU threads of this process; 0 leaves PyTorch's choice.

    Raises:
        ConfigError: there is no such accelerator, or this machine does not have it.
    """
    if accelerator not in ACCELERATORS:
        raise ConfigError(f"accelerator {accelerator!r} is unknown; use one of {', '.join(ACCELERATORS)}")
    if threads:
        torch.set_num_threads(threads)
    there = {"mps": torch.backends.mps.is_available(), "cuda": torch.cuda.is_available(), "cpu": True}
    wanted = {"auto": tuple(there), "gpu": ("mps", "cuda")}.get(accelerator, (accelerator,))
    found = next((name for name in wanted if there[name]), None)
    if found is None:
        raise ConfigError(
            f"this machine cannot run on {accelerator!r}: PyTorch finds no such device; use accelerator 'cpu' or 'auto'"
        )
    return torch.device(found)
