"""LOND-DRS's network: one backbone, a one-vs-all head, a projection head and class prototypes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from lond.nets.heads import check_batch, mlp_head
from lond.processes.rows import by_rows


@dataclass(frozen=True)
class DualOutput:
    """What one forward gives for B images.

    ``features`` is ``(B, F)``; ``embedding`` ``(B, E)`` float32 of length one; ``ova_logits`` ``(B, C, 2)`` with the
    negative ("not this class") logit at ``[..., 0]`` and the positive one at ``[..., 1]``.
    """

    features: Tensor
    embedding: Tensor
    ova_logits: Tensor


class DualNet(nn.Module):
    """A shared backbone with a one-vs-all head, a projection head and C learned prototypes.

    The prototypes are zero, and ``prototypes_ready`` False, until ``set_prototypes`` gives them their start (the mean
    clean embedding of each class); from then on they are learned like every other parameter.

    Args:
        backbone: Maps images to features ``(B, feature_size)``.
        feature_size: F, also the hidden width of both heads.
        num_classes: C, the number of known classes.
        embedding_size: E, the length of an embedding.
    """

    prototypes_ready: Tensor

    def __init__(self, backbone: nn.Module, feature_size: int, num_classes: int, embedding_size: int = 128) -> None:
        """Build both heads on top of the backbone."""
        super().__init__()
        self.backbone = backbone
        self.feature_size = feature_size
        self.num_classes = num_classes
        self.embedding_size = embedding_size
        self.ova_head = mlp_head(feature_size, 2 * num_classes)
        self.projection_head = mlp_head(feature_size, embedding_size)
        self.prototypes = nn.Parameter(torch.zeros(num_classes, embedding_size))
        self.register_buffer("prototypes_ready", torch.tensor(False))

    @torch.no_grad()
    def start_heads(self) -> None:
        """Draw the weights of both heads anew as Kaiming's normal ones, and set their biases to zero."""
        for layer in (*self.ova_head.modules(), *self.projection_head.modules()):
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_normal_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> DualOutput:
        """Map images ``(B, K, H, W)`` to features, embeddings and one-vs-all logits."""
        check_batch(x, self.training)
        return DualOutput(*by_rows(self._outputs, x))

    def _outputs(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        features = self.backbone(x)
        # Half precision under autocast would leave lengths that are off by 1e-3.
        embedding = functional.normalize(self.projection_head(features).float(), dim=1)
        return features, embedding, self.ova_head(features).reshape(-1, self.num_classes, 2)

    @torch.no_grad()
    def set_prototypes(self, prototypes: Tensor) -> None:
        """Overwrite the prototypes with ``(C, E)`` values, in place so that an optimiser keeps its hold on them."""
        if prototypes.shape != self.prototypes.shape:
            raise ValueError(f"prototypes must be {tuple(self.prototypes.shape)}, not {tuple(prototypes.shape)}")
        self.prototypes.copy_(prototypes)
        self.prototypes_ready.fill_(True)

    def unit_prototypes(self) -> Tensor:
        """Return the prototypes ``(C, E)``, each of length one, with gradient."""
        return functional.normalize(self.prototypes.float(), dim=1)
