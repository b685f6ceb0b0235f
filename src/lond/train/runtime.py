"""Device, precision and processes, in one small object over Lightning Fabric."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from lond.device import ACCELERATORS, choose_device
from lond.errors import ConfigError

PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")
"""Parameters stay in 32 bits; mixed runs the networks in half precision."""


@dataclass(frozen=True)
class RuntimeSettings:
    """Where and how to compute.

    Device and precision change results by rounding only. With several processes each normalises, mixes and contrasts
    its own part of a batch, as if the batch were smaller; gradients and running statistics are averaged.
    """

    accelerator: str = "auto"
    """One of ``ACCELERATORS``."""
    devices: int = 1
    """Processes on this machine; a batch is divided among all processes."""
    num_nodes: int = 1
    precision: str = "32-true"
    """"32-true", "bf16-mixed" or "16-mixed"."""
    threads: int = 0
    """CPU threads of each process; 0 leaves PyTorch's choice."""

    def __post_init__(self) -> None:
        """Check that counts are at least 1, and accelerator and precision are known."""
        if self.devices < 1 or self.num_nodes < 1:
            raise ConfigError("devices and num_nodes must be at least 1")
        if self.accelerator not in ACCELERATORS:
            raise ConfigError(f"accelerator {self.accelerator!r} is unknown; use one of {', '.join(ACCELERATORS)}")
        if self.precision not in PRECISIONS:
            raise ConfigError(f"precision {self.precision!r} is unknown; use one of {', '.join(PRECISIONS)}")


class Runtime:
    """One process's view of the machine(s). Gradients are averaged by hand, so a step may run a network many times."""

    def __init__(self, settings: RuntimeSettings | None = None) -> None:
        """Start the processes."""
        # Imported here: it takes two seconds, which `lond --help` should not.
        from lightning_fabric import Fabric

        settings = settings or RuntimeSettings()
        device = choose_device(settings.accelerator, settings.threads)
        several = settings.devices * settings.num_nodes > 1
        options: dict[str, Any] = {"strategy": "ddp"} if several else {}
        try:
            self.fabric = Fabric(
                accelerator=device.type,
                devices=settings.devices,
                num_nodes=settings.num_nodes,
                precision=settings.precision,  # type: ignore[arg-type]  # the user's word; Fabric checks it
                **options,
            )
        except (ValueError, RuntimeError) as error:
            raise ConfigError(f"this machine cannot run as asked: {error}") from error
        self.fabric.launch()
        self.device: torch.device = self.fabric.device
        self.rank: int = self.fabric.global_rank
        self.processes: int = self.fabric.world_size
        self.precision = settings.precision

    def describe(self) -> dict[str, Any]:
        """Return what results and times depend on besides code and settings."""
        on_gpu = self.device.type == "cuda"
        return {
            "threads": torch.get_num_threads(),
            "device": torch.cuda.get_device_name(self.device) if on_gpu else self.device.type,
            "precision": self.precision,
            "processes": self.processes,
        }

    @property
    def is_main(self) -> bool:
        """True in the process that writes files and speaks."""
        return self.rank == 0

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context in which networks run at the asked precision."""
        return self.fabric.autocast()

    def optimiser(self, optimiser: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """Wrap an optimiser so that scaled gradients of 16-bit training are handled."""
        return cast(torch.optim.Optimizer, self.fabric.setup_optimizers(optimiser))

    def backward(self, loss: Tensor, parameters: Iterable[nn.Parameter]) -> None:
        """Back-propagate, then average the gradients over all processes."""
        self.fabric.backward(loss)
        self.average([parameter.grad for parameter in parameters if parameter.grad is not None])

    def average_buffers(self, module: nn.Module) -> None:
        """Make the running statistics of all processes equal."""
        self.average([buffer for buffer in module.buffers() if buffer.is_floating_point()])

    def union(self, names: Iterable[str]) -> list[str]:
        """Return the names that any process knows, first this order, the same in all processes."""
        known = [list(names)]
        if self.processes > 1:
            gathered: list[list[str]] = [[] for _ in range(self.processes)]
            torch.distributed.all_gather_object(gathered, known[0])
            known = gathered
        return list(dict.fromkeys(name for part in known for name in part))

    def total(self, tensor: Tensor) -> Tensor:
        """Return the sum of a tensor over all processes."""
        if self.processes > 1:
            tensor = tensor.to(self.device, copy=True)
            torch.distributed.all_reduce(tensor)
        return tensor

    def gather_rows(self, rows: Tensor, total: int) -> Tensor:
        """Return all ``total`` rows in order, of which this process holds every ``processes``-th, from ``rank`` on."""
        if self.processes == 1:
            return rows
        longest = -(-total // self.processes)
        padded = torch.cat([rows, rows.new_zeros(longest - len(rows), *rows.shape[1:])])
        gathered = cast(Tensor, self.fabric.all_gather(padded))
        return gathered.transpose(0, 1).flatten(0, 1)[:total]

    def state_dict(self) -> dict[str, Any]:
        """Return the state of 16-bit training (the gradient scale); empty otherwise."""
        return dict(self.fabric.strategy.precision.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what ``state_dict`` gave."""
        if state:
            self.fabric.strategy.precision.load_state_dict(state)

    def barrier(self) -> None:
        """Wait for all processes."""
        self.fabric.barrier()

    def close(self) -> None:
        """Leave the process group, if there is one."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()

    def average(self, tensors: list[Tensor]) -> None:
        """Replace tensors, in place, by their means over all processes."""
        if self.processes == 1 or not tensors:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        torch.distributed.all_reduce(flat)
        flat /= self.processes
        for tensor, values in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(values.view_as(tensor))
