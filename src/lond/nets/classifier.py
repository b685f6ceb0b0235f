"""A plain softmax classifier, the network of every method but LOND-DRS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from lond.errors import ConfigError
from lond.nets.heads import check_batch, hidden_layer
from lond.processes.rows import by_rows


@dataclass(frozen=True)
class ClassifierOutput:
    """What one forward gives for B images.

    ``features`` is ``(B, D)``, the direct input of the last linear layer; ``logits`` is ``(B, C)``.
    """

    features: Tensor
    logits: Tensor


class Classifier(nn.Module):
    """A backbone with a linear head (Co-teaching+) or a two-layer head (Jo-SRC, SED, PNP, NPN).

    Args:
        backbone: Maps images to features ``(B, feature_size)``.
        feature_size: Length of the backbone's features.
        num_classes: C, the number of known classes.
        head: "mlp" for Linear - BatchNorm1d - ReLU - Linear, "linear" for one linear layer.
        hidden: Width of the hidden layer of the "mlp" head.

    Attributes:
        last: The last linear layer, for those who need its weights.
        penultimate_size: D, the length of ``ClassifierOutput.features``.

    Raises:
        ConfigError: If ``head`` is unknown.
    """

    def __init__(
        self,
        backbone: nn.Module,
        feature_size: int,
        num_classes: int,
        head: Literal["mlp", "linear"] = "mlp",
        hidden: int = 512,
    ) -> None:
        """Build the head on top of the backbone."""
        super().__init__()
        if head not in ("mlp", "linear"):
            raise ConfigError(f"head must be 'mlp' or 'linear', not {head!r}")
        self.backbone = backbone
        self.num_classes = num_classes
        self.neck = hidden_layer(feature_size, hidden) if head == "mlp" else nn.Sequential()
        self.penultimate_size = hidden if head == "mlp" else feature_size
        self.last = nn.Linear(self.penultimate_size, num_classes)
        if head == "mlp":
            for layer in (*self.neck, self.last):
                if isinstance(layer, nn.Linear):
                    nn.init.kaiming_normal_(layer.weight, mode="fan_in")
                    nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> ClassifierOutput:
        """Map images ``(B, K, H, W)`` to penultimate features and logits."""
        if len(self.neck):
            check_batch(x, self.training)
        return ClassifierOutput(*by_rows(self._outputs, x))

    def _outputs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.neck(self.backbone(x))
        return features, self.last(features)
