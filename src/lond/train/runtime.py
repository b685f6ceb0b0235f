"""Device, precision and processes, in one small object over Lightning Fabric."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from lond.device import ACCELERATORS, choose_device
from lond.errors import ConfigError, LostProcessError
from lond.processes.group import ProcessGroup, together

PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")
"""Parameters stay in 32 bits; mixed runs the networks in half precision."""


@dataclass(frozen=True)
class RuntimeSettings:
    """Where and how to compute.

    All of it changes results by rounding only: several processes give what one gives (docs/distributed.md).
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
    timeout: int = 1800
    """Seconds after which a process that waits for another gives up."""

    def __post_init__(self) -> None:
        """Check that counts are at least 1, and accelerator and precision are known."""
        if min(self.devices, self.num_nodes, self.timeout) < 1:
            raise ConfigError("devices, num_nodes and timeout must be at least 1")
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

        from lond.train.launcher import WatchedStrategy

        settings = settings or RuntimeSettings()
        device = choose_device(settings.accelerator, settings.threads)
        processes = settings.devices * settings.num_nodes
        options: dict[str, Any] = {}
        if processes > 1:
            options["strategy"] = WatchedStrategy(settings.timeout)
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
        try:
            self.fabric.launch()
        except ValueError as error:
            raise ConfigError(f"the processes were not started as asked: {error}") from error
        except (RuntimeError, TimeoutError) as error:
            raise LostProcessError(
                f"not all {processes} processes came together within {settings.timeout} seconds: {error}"
            ) from error
        self.device: torch.device = self.fabric.device
        self.rank: int = self.fabric.global_rank
        self.processes: int = self.fabric.world_size
        self.group = ProcessGroup(self.rank, self.processes, self.device)
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

    def together(self) -> AbstractContextManager[None]:
        """Return the context in which all processes do the same, and divide what can be divided."""
        return together(self.group)

    def union(self, names: Iterable[str]) -> list[str]:
        """Return the names that any process knows, first this order, the same in all processes."""
        known = self.group.gather_objects(list(names)) if self.processes > 1 else [list(names)]
        return list(dict.fromkeys(name for part in known for name in part))

    def total(self, tensor: Tensor) -> Tensor:
        """Return the sum of a tensor over all processes."""
        return self.group.sum(tensor) if self.processes > 1 else tensor

    def state_dict(self) -> dict[str, Any]:
        """Return the state of 16-bit training (the gradient scale); empty otherwise."""
        return dict(self.fabric.strategy.precision.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what ``state_dict`` gave."""
        if state:
            self.fabric.strategy.precision.load_state_dict(state)

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.processes > 1:
            self.total(torch.zeros(1, device=self.device))

    def close(self) -> None:
        """Leave the process group, if there is one."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()

    def average(self, tensors: list[Tensor]) -> None:
        """Replace tensors, in place, by their means over all processes."""
        if self.processes == 1 or not tensors:
            return
        flat = self.group.sum(torch.cat([tensor.reshape(-1) for tensor in tensors])) / self.processes
        for tensor, values in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(values.view_as(tensor))
