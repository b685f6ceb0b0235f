"""Energy and the part of the features outside their principal subspace."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.ebo import ebo_score
from lond.detect.evidence import BLOCK_ROWS, Evidence, fit_rows, in_blocks, part
from lond.detect.last_layer import Head, last_layer
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError, DataError


def usual_dimension(size: int) -> int:
    """Return the dimension of the principal subspace for features of this size, as the authors' code chooses it."""
    return 1000 if size >= 2048 else 512 if size >= 768 else size // 2


def new_origin(weight: Tensor, bias: Tensor) -> Tensor:
    """Return ``o = -W^+ b``, ``(D,)`` float64: the shortest feature vector of logits nearest to zero."""
    origin: Tensor = -(torch.linalg.pinv(weight.double()) @ bias.double())
    return origin


def residual_basis(features: Tensor, origin: Tensor, dimension: int) -> Tensor:
    """Return the eigenvectors R ``(D, D - dimension)`` of ``(H - o)^T (H - o)`` with the smallest eigenvalues."""
    total = torch.zeros(len(origin), len(origin), dtype=torch.float64, device=features.device)
    for block in features.split(BLOCK_ROWS):
        centred = block.double() - origin
        total.addmm_(centred.T, centred)
    vectors: Tensor = torch.linalg.eigh(total / len(features)).eigenvectors
    return vectors[:, : len(origin) - dimension].contiguous()


def residual_norm(features: Tensor, origin: Tensor, residual: Tensor) -> Tensor:
    """Return ``|(h - o) R|``, ``(B,)`` float64, of features ``(B, D)``."""
    return in_blocks(lambda block: ((block.double() - origin) @ residual).norm(dim=1), features)


def vim_score(features: Tensor, logits: Tensor, origin: Tensor, residual: Tensor, alpha: float) -> Tensor:
    """Return ``alpha |(h - o) R| - log sum_c exp z_c``, ``(B,)`` float64; larger = more foreign."""
    return alpha * residual_norm(features, origin, residual) + ebo_score(logits).double()


class ViM(Detector):
    """Virtual-logit matching (Wang et al., CVPR 2022, arXiv 2203.10807).

    Fitted on features and logits, without labels, in float64; the origin comes from the last layer, which must be
    linear. Foreign images in the training set widen the principal subspace; ``trusted_only`` evidence leaves them out.

    Examples:
        >>> generator = torch.Generator().manual_seed(0)
        >>> features = torch.randn(20, 4, generator=generator) * torch.tensor([3.0, 3.0, 0.1, 0.1])
        >>> layer = torch.nn.Linear(4, 3)
        >>> torch.nn.init.eye_(layer.weight), layer.bias.data.zero_()
        (Parameter containing:
        tensor([[1., 0., 0., 0.],
                [0., 1., 0., 0.],
                [0., 0., 1., 0.]], requires_grad=True), tensor([0., 0., 0.]))
        >>> detector = ViM(dimension=2, head=layer).fit_features(Evidence(features=features, logits=layer(features)))
        >>> new = torch.tensor([[3.0, 3.0, 0.0, 0.0], [3.0, 3.0, 0.0, 9.0]])
        >>> scores = detector.score_features(Evidence(features=new, logits=layer(new)))
        >>> bool(scores[1] > scores[0])
        True
    """

    state_names = ("origin", "residual", "alpha")
    fits_on = "training"

    def __init__(
        self, network: AnyNetwork | None = None, *, dimension: int | None = None, head: Head | None = None
    ) -> None:
        """Set the dimension of the principal subspace (None: by the size of the features), and optionally a head."""
        super().__init__(network)
        if dimension is not None and dimension < 0:
            raise ConfigError(f"the principal subspace cannot have dimension {dimension}")
        self.dimension, self._head = dimension, head

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit subspace and scale; raises DataError also where the samples leave nothing outside the subspace."""
        features, logits = fit_rows(evidence, "features").detach(), fit_rows(evidence, "logits").detach()
        size = features.shape[1]
        dimension = usual_dimension(size) if self.dimension is None else self.dimension
        if dimension >= size:
            raise ConfigError(f"a principal subspace of dimension {dimension} leaves nothing of {size} features")
        origin = new_origin(*last_layer(self._head or self.network.head, features))
        residual = residual_basis(features, origin, dimension)
        norm = float(residual_norm(features, origin, residual).mean())
        if norm <= 1e-6 * float((features.double() - origin).norm(dim=1).mean()):
            raise DataError(
                f"all features lie in {dimension} dimensions, which leaves nothing for ViM: fit it on more samples "
                "than that, or lower its dimension"
            )
        alpha = torch.tensor(float(logits.double().amax(dim=1).mean()) / norm, dtype=torch.float64)
        self.state = {"origin": origin, "residual": residual, "alpha": alpha}
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the virtual logit minus the log of the summed exponentials of the logits."""
        origin, residual, alpha = (self.fitted(name) for name in self.state_names)
        features, logits = part(evidence, "features").detach(), part(evidence, "logits").detach()
        return vim_score(features, logits, origin, residual, float(alpha))
