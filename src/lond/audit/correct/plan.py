"""What would become of every image of a corrected set, and why; nothing is written here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from lond.errors import counted

SHOWN = 40
"""Most changes of label that a description lists."""


LIKELY = 0.5
"""Chance from which on an image is more likely foreign than not."""


class Action(StrEnum):
    """What becomes of an image."""

    KEEP = "keep"
    RELABEL = "relabel"
    LEAVE_OUT = "leave out"


class Reason(StrEnum):
    """Why an image is kept, relabelled or left out: the words, with a gap for a detail where one belongs to them."""

    NO_DOUBT = "called clean"
    UNREADABLE = "unreadable"
    DUPLICATE_CONFLICT = "duplicate conflict"
    CONFLICT_SETTLED = "a person said which images are not the same"
    REPEATED = "repeats an image that stays"
    MISLABELLED = "mislabelled (confidence at least {})"
    CALLED_FOREIGN = "called foreign"
    FOREIGN = "foreign (chance at least {})"
    PERHAPS_FOREIGN = "perhaps foreign (chance at least {})"
    FOREIGN_WANTED = "foreign, but foreign images are not left out"
    UNSURE_FOREIGN = "called foreign, but not surely enough"
    UNSURE_MISLABELLED = "called mislabelled, but not surely enough"
    UNLABELLED = "unlabelled"
    PERSON_FOREIGN = "a person called it foreign"
    PERSON_RELABELLED = "a person gave the label"
    PERSON_KEPT = "a person confirmed the label"
    PERSON_UNSURE = "a person was not sure"
    PERSON_ACCEPTED_FOREIGN = "a person confirmed that it is foreign"
    PERSON_ACCEPTED_LABEL = "a person accepted the suggestion"
    PERSON_ACCEPTED = "a person confirmed the verdict"
    PERSON_ACCEPTED_NO_LABEL = "a person confirmed the verdict {}, and no label is suggested"


FOREIGN_REASONS = frozenset({
    Reason.CALLED_FOREIGN,
    Reason.FOREIGN,
    Reason.PERHAPS_FOREIGN,
    Reason.UNSURE_FOREIGN,
    Reason.PERSON_FOREIGN,
    Reason.PERSON_ACCEPTED_FOREIGN,
})  # fmt: skip
"""Reasons for leaving out an image that is, or may be, foreign."""

CONFIRMING = frozenset({
    Reason.PERSON_RELABELLED,
    Reason.PERSON_KEPT,
    Reason.PERSON_ACCEPTED_LABEL,
    Reason.PERSON_ACCEPTED,
})  # fmt: skip
"""Reasons by which a person gave or confirmed the label."""


@dataclass(frozen=True)
class PlannedImage:
    """One image: ``label`` is the one it gets ("" for none), ``given`` the one it had."""

    id: str
    path: str
    given: str
    label: str
    action: Action
    reason: Reason
    detail: str = ""
    """What fills the gap in the words of the reason, if they have one."""
    likely_foreign: bool = False
    """Whether it is more likely foreign than not, though not surely enough to be left out; nobody decided on it."""
    hard_to_see: tuple[str, ...] = ()
    """What makes it hard to judge by its looks, such as "dark"; empty if a person decided on it."""

    @property
    def why(self) -> str:
        """The reason in a few words."""
        return self.reason.value.format(self.detail)

    @property
    def confirmed(self) -> bool:
        """Whether a person gave or confirmed the label."""
        return bool(self.label) and self.reason in CONFIRMING


@dataclass(frozen=True)
class CorrectionPlan:
    """What becomes of N images, in the order of the audit's table."""

    images: tuple[PlannedImage, ...]

    def __len__(self) -> int:
        """Return the number of images, those left out among them."""
        return len(self.images)

    def __str__(self) -> str:
        """Return the description."""
        return self.describe()

    @property
    def kept(self) -> tuple[PlannedImage, ...]:
        """The images of the corrected set."""
        return tuple(image for image in self.images if image.action != Action.LEAVE_OUT)

    def counts(self) -> dict[Action, int]:
        """Return the number of images by action."""
        found = Counter(image.action for image in self.images)
        return {action: found[action] for action in Action}

    def reasons(self) -> dict[tuple[Action, str], int]:
        """Return the number of images by action and reason, most frequent first within an action."""
        found = Counter((image.action, image.why) for image in self.images)
        order = list(Action)
        return dict(sorted(found.items(), key=lambda item: (order.index(item[0][0]), -item[1], item[0][1])))

    def changes(self) -> dict[tuple[str, str], int]:
        """Return the number of images by given and new label where they differ, most frequent first."""
        found = Counter((image.given, image.label) for image in self.images if image.action == Action.RELABEL)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def lost_classes(self) -> list[str]:
        """Return the given labels that no image of the corrected set carries."""
        return sorted({image.given for image in self.images} - {image.label for image in self.kept} - {""})

    @property
    def foreign_left_out(self) -> int:
        """Number of images that are left out because they are, or may be, foreign."""
        return len(self._left_out_as_foreign())

    def _left_out_as_foreign(self) -> list[PlannedImage]:
        return [image for image in self.images if image.action == Action.LEAVE_OUT and image.reason in FOREIGN_REASONS]

    def describe(self) -> str:
        """Return a summary for a person to read before anything is written."""
        counts = self.counts()
        lines = [
            f"{len(self.kept)} of {len(self)} images stay, {counts[Action.RELABEL]} of them under another label; "
            f"{counts[Action.LEAVE_OUT]} are left out"
        ]
        lines += [f"  {action:<9} {count:>8}  {why}" for (action, why), count in self.reasons().items()]
        lines += [*self._doubts(), *self._changed_labels()]
        lost = self.lost_classes()
        if lost:
            lines.append(f"classes that lose all their images: {', '.join(_name(name) for name in lost)}")
        return "\n".join(lines)

    def _doubts(self) -> list[str]:
        """Return one line on foreign images that stay, and one on images left out that are hard to judge."""
        lines = []
        likely = [image for image in self.kept if image.likely_foreign]
        if likely:
            lines.append(
                f"{counted(len(likely), 'image')} that {'stays is' if len(likely) == 1 else 'stay are'} more likely "
                f"foreign than not; --foreign {LIKELY:g} leaves {'it' if len(likely) == 1 else 'them'} out"
            )
        unseen = [image for image in self._left_out_as_foreign() if image.hard_to_see]
        if unseen:
            kinds = " or ".join(dict.fromkeys(kind for image in unseen for kind in image.hard_to_see))
            are, them = ("is", "it") if len(unseen) == 1 else ("are", "them")
            total = counted(self.foreign_left_out, "image")
            lines.append(f"{len(unseen)} of {total} left out as foreign {are} {kinds}; look at {them} first")
        return lines

    def _changed_labels(self) -> list[str]:
        changes = self.changes()
        if not changes:
            return []
        lines = [f"  {count:>8}  {_name(old)} -> {_name(new)}" for (old, new), count in list(changes.items())[:SHOWN]]
        more = [f"  ... and {len(changes) - SHOWN} other pairs"] if len(changes) > SHOWN else []
        return ["labels that change:", *lines, *more]


def _name(label: str) -> str:
    """Return a label for a terminal, where control characters of a hostile name could do harm."""
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in label)
    return text[:60] or "(no label)"
