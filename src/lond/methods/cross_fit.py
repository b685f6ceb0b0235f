"""Cross-fit, this package's own method: judge labels by models that never saw them, and teach "none of these"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.crossfit.chances import OUTSIDE
from lond.crossfit.confusion import confusion_of, posterior, unmixed
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.crossfit.judgement import Judgement, judge_labels
from lond.detect import Network
from lond.errors import ConfigError
from lond.losses.mixup import draw_mix, mix_inputs
from lond.methods.base import Cost, Method, Survey, Task
from lond.methods.classifiers import ClassifierSettings, build_classifier, whole_set
from lond.methods.for_detectors import OpenedClassifier
from lond.nets.classifier import Classifier
from lond.nets.teacher import MeanTeacher
from lond.types import FOREIGN, Batch, Clock, Epochs, Partition, Phase, Prediction, Stream, Term


@dataclass(frozen=True)
class CrossFitSettings(ClassifierSettings):
    """Settings of cross-fit.

    Examples:
        >>> CrossFitSettings().warmup_epochs
        50
    """

    head: Literal["mlp", "linear"] = "linear"
    warmup_epochs: Epochs = 50
    """Epochs before the network's own opinion counts: on images they learn the given labels, on features of a frozen
    network, whose labels are judged before the first epoch, what was judged."""
    judge_epochs: Epochs = 10
    """On images: epochs between two judgements, as the features that they rest on improve."""
    own_opinion: float = 0.5
    """Share of the network's opinion in its targets; the rest is what was judged out of fold."""
    noise_model: float = 0.5
    """Share of the noise model in what is judged; the rest is the judgement, fitted on many kinds of noise."""
    sharpening: float = 2.0
    """Power to which targets are raised: clear ones become clearer, flat ones those of foreign images (1 = none)."""
    strong_views: bool = True
    """On images: whether targets are learned from strongly changed views as well."""
    mixing: float = 0.0
    """On features: how much pairs are mixed, with their targets. Times the share of labels judged wrong, this is the
    concentration of the Beta distribution of their ratio (0 = none)."""
    teacher_memory: float = 0.99
    """How much the averaged network, which predicts, keeps of itself at each step."""

    def __post_init__(self) -> None:
        """Check that counts are not negative and shares lie in [0, 1]."""
        super().__post_init__()
        if self.warmup_epochs < 0 or self.judge_epochs < 1:
            raise ConfigError("warmup_epochs must not be negative, judge_epochs at least 1")
        if not 0 <= self.own_opinion <= 1 or not 0 <= self.noise_model <= 1:
            raise ConfigError("own_opinion and noise_model must lie in [0, 1]")
        if self.sharpening <= 0 or self.mixing < 0:
            raise ConfigError("sharpening must be positive, mixing not negative")


@dataclass(frozen=True)
class Opinion:
    """What is known of N labels out of fold.

    ``targets`` ``(N, C + 1)`` are probabilities of the true class, the last of being foreign; ``confusion``
    ``(C + 1, C)`` is how labels are confused; ``foreign_rate`` the share of foreign images.
    """

    targets: Tensor
    confusion: Tensor
    foreign_rate: float


class KnownOrNone(nn.Module):
    """A classifier with one more output from the same features: "none of these"."""

    def __init__(self, classifier: Classifier) -> None:
        """Add the output."""
        super().__init__()
        self.classifier = classifier
        self.none = nn.Linear(classifier.penultimate_size, 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return features ``(B, D)`` and logits ``(B, C + 1)``, "none of these" last."""
        out = self.classifier(images)
        return out.features, torch.cat([out.logits, self.none(out.features)], dim=1)


class CrossFit(Method):
    """Cross-fit: learn labels judged out-of-fold, with foreign images as an extra class; the weight average predicts.

    Labels are judged by heads and neighbours that never saw them (``lond.crossfit``), before the first epoch where the
    inputs are features of a frozen network, after the warm-up where they are images. Later targets mix this with what
    the averaged network and the confusion of labels say of an image. Training images labelled -1 are taken for foreign
    ones that a person marked, and labels that a person confirmed as known.

    Examples:
        >>> from lond import preset
        >>> preset("digits", CrossFit).method
        'cross-fit'
    """

    settings_class = CrossFitSettings
    cost = Cost(1.0, 2.6, searches=0.2, width=256, neighbours=20)
    quick_on_features = True
    uses_confirmed = True

    def __init__(self, settings: CrossFitSettings, task: Task) -> None:
        """Build the network and its average."""
        super().__init__()
        self.settings, self.labels, self.num_classes = settings, task.labels, task.num_classes
        self.confirmed = task.confirmed
        self.net = KnownOrNone(build_classifier(settings, task))
        self.teacher = MeanTeacher(self.net, settings.teacher_memory, statistics="average")
        self.opinion: Opinion | None = None
        self.on_features = False
        # Made anew at the beginning of each epoch, so no checkpoint needs them.
        self.targets, self.concentration = torch.zeros(0), 0.0

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Judge where it is time, and return one phase: over labelled samples in a warm-up, else over all."""
        if epoch == 0 and self.opinion is None:
            self._judge_features(survey)
        warming_up = epoch < self.settings.warmup_epochs
        if not self.on_features and not warming_up:
            past = epoch - self.settings.warmup_epochs
            if self.opinion is None or past % self.settings.judge_epochs == 0:
                (embeddings,) = survey(lambda images: (self.teacher(images)[0],))
                self._judge(embeddings)
        if self.opinion is None:
            return [whole_set("warm-up", self.labels)]
        believed = self.opinion.targets if warming_up else self._with_own(survey, self.opinion)
        self.partition = partition_of(believed, self.labels)
        self.targets = sharpened(believed, self.settings.sharpening)
        self.concentration = self.settings.mixing * wrong_share(believed, self.labels) if self.on_features else 0.0
        everyone = torch.arange(len(self.labels))
        name = "judged" if warming_up else "own opinion"
        views = ("weak", "strong") if self.settings.strong_views and not self.on_features else ("weak",)
        return [Phase(name, {"all": Stream(everyone, views)}, lead=len(everyone))]

    def told(self, opinion: Opinion) -> None:
        """Learn from features whose labels were judged before, by this opinion of all of them."""
        self.opinion, self.on_features = opinion, True

    def _judge_features(self, survey: Survey) -> None:
        """Judge by the inputs themselves if they are features of a frozen network."""
        (inputs,) = survey(lambda images: (images if images.dim() == 2 else images.new_zeros(len(images), 0),))
        self.on_features = inputs.shape[1] > 0
        if self.on_features:
            self._judge(inputs)

    def _judge(self, features: Tensor) -> None:
        labels, known, confirmed = self.labels.cpu(), self._known(), self._confirmed()
        decided = torch.where(labels == FOREIGN, NO_CLASS, labels).where(known, UNDECIDED) if known.any() else None
        judgement = judge_labels(features.cpu(), labels, self.num_classes, decided=decided, confirmed=confirmed)
        self.opinion = opinion_of(judgement, self.settings)

    def _confirmed(self) -> Tensor:
        """Return which labels ``(N,)`` a person gave or confirmed."""
        labelled = self.labels.cpu() >= 0
        return labelled & self.confirmed.cpu() if self.confirmed is not None else torch.zeros_like(labelled)

    def _known(self) -> Tensor:
        """Return of which samples ``(N,)`` a person said what they are: confirmed labels, and images marked foreign."""
        return (self.labels.cpu() == FOREIGN) | self._confirmed()

    def _with_own(self, survey: Survey, opinion: Opinion) -> Tensor:
        """Return what was judged, mixed with what the averaged network and the given label say."""
        share = self.settings.own_opinion
        if not share:
            return opinion.targets
        (prior,) = survey(lambda images: (F.softmax(self.teacher(images)[1].float(), dim=1),))
        own = posterior(prior.cpu(), self.labels.cpu(), opinion.confusion, opinion.foreign_rate)
        mixed = share * own + (1 - share) * opinion.targets
        # What a person said is known, whatever the network thinks of it.
        return torch.where(self._known()[:, None], opinion.targets, mixed)

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return cross-entropy of the given labels in a warm-up, else of the targets, for each view a term."""
        batch = batches["all"]
        if phase == "warm-up":
            logits = self.net(batch.views[0])[1].float()
            return {"cross_entropy": Term(F.cross_entropy(logits, batch.labels, reduction="none"))}
        targets = self.targets[batch.indices.to(self.targets.device)]
        names = ("targets", "strong_targets")[: len(batch.views)]
        terms = {}
        for name, view in zip(names, batch.views, strict=True):
            inputs, wanted = view, targets
            if self.concentration:
                mix = draw_mix(len(view), self.concentration, random)
                inputs, wanted = mix_inputs(view, mix), mix_inputs(targets, mix)
            terms[name] = Term(self._missed(inputs, wanted))
        return terms

    def _missed(self, images: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy of targets ``(B, C + 1)``, ``(B,)``."""
        logits = self.net(images)[1].float()
        return -(targets.to(logits.device) * F.log_softmax(logits, dim=1)).sum(dim=1)

    def after_step(self) -> None:
        """Move the averaged network."""
        self.teacher.follow(self.net)

    # What it says

    def predict(self, images: Tensor) -> Prediction:
        """Return probabilities of the known classes and the foreign score, both of the averaged network."""
        features, logits = self.teacher(images)
        logits = logits.float()
        known = logits[:, :-1]
        return Prediction(F.softmax(known, dim=1), foreign_score(logits), features.float(), known)

    def network(self) -> Network:
        """Return the averaged classifier of known classes, opened at its last layers."""
        return OpenedClassifier(self.teacher.net.classifier)  # type: ignore[arg-type]

    # In a checkpoint

    def extra_state(self) -> dict[str, Any]:
        """Return the opinion as well."""
        opinion = None if self.opinion is None else dict(vars(self.opinion))
        return {**super().extra_state(), "opinion": opinion, "on_features": self.on_features}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self.opinion = None if state["opinion"] is None else Opinion(**state["opinion"])
        self.on_features = state["on_features"]


def opinion_of(judgement: Judgement, settings: CrossFitSettings, rows: Tensor | None = None) -> Opinion:
    """Return the opinion that follows from a judgement: the mean of its table's and of the noise model's.

    With ``rows`` ``(M,)`` it is about the images at these places only, and the others are not looked at.
    """
    rows = torch.arange(len(judgement.labels)) if rows is None else rows
    log_chances, labels = judgement.evidence.log_chances_of(rows), judgement.labels[rows]
    known = judgement.targets_of(rows, log_chances)
    table = torch.cat([known, 1 - known.sum(dim=1, keepdim=True)], dim=1).clamp_min(0)
    rate = float(judgement.chances[rows, OUTSIDE].mean())
    confusion = confusion_of(log_chances, labels)
    model = posterior(unmixed(log_chances, confusion, rate), labels, confusion, rate)
    share = settings.noise_model
    targets = share * model + (1 - share) * table
    if judgement.decided is not None:
        # What a person decided is known, whatever the confusion of labels says.
        targets = torch.where((judgement.decided[rows] != UNDECIDED)[:, None], table, targets)
    return Opinion(targets, confusion, rate)


def sharpened(chances: Tensor, power: float) -> Tensor:
    """Return probabilities ``(N, K)`` raised to a power, of sum one again."""
    raised = chances**power
    return raised / raised.sum(dim=1, keepdim=True)


def wrong_share(targets: Tensor, labels: Tensor) -> float:
    """Return the share of labels ``(N,)`` that are wrong by targets ``(N, C + 1)``; foreign images have no wrong one.

    Examples:
        >>> wrong_share(torch.tensor([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]]), torch.tensor([0, 0]))
        0.25
    """
    labelled = (labels >= 0).nonzero().squeeze(1).to(targets.device)
    if not len(labelled):
        return 0.0
    known = targets[labelled, :-1]
    own = known.gather(1, labels.to(targets.device)[labelled, None]).squeeze(1)
    return float((known.sum(dim=1) - own).mean())


def foreign_score(logits: Tensor) -> Tensor:
    """Return how foreign images are, ``(B,)``, from logits ``(B, C + 1)``; larger = more foreign.

    The mean of two scores: log-odds of "none of these", and the energy of the known classes' centred logits, which
    knows nothing of the foreign images seen in training.
    """
    known, none = logits[:, :-1], logits[:, -1]
    return (none + known.mean(dim=1)) / 2 - torch.logsumexp(known, dim=1)


def partition_of(targets: Tensor, labels: Tensor) -> Partition:
    """Return the partition by targets ``(N, C + 1)``: open where foreign is likelier than not, else by label."""
    labels = labels.to(targets.device)
    best, likeliest = targets[:, :-1].max(dim=1)
    open_set = targets[:, -1] > 0.5
    clean = (labels == likeliest) & ~open_set
    weights = (best / targets[:, :-1].sum(dim=1).clamp_min(1e-9)).masked_fill(open_set, 0.0)
    return Partition(clean, ~clean & ~open_set, open_set, weights, likeliest)
