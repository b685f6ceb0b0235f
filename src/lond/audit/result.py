"""What an audit found, to look at, to work with and to write down."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from PIL import Image

from lond.audit.contents import AuditContents
from lond.audit.earlier_tables import keeping_earlier
from lond.audit.page.by_class import write_pages
from lond.audit.page.style import class_rates
from lond.audit.page.write import ReviewPage
from lond.audit.places import address_of_pictures, folder_of_source
from lond.audit.saved import (
    PAGE,
    PARQUET,
    PARTS,
    SUMMARY,
    TABLE,
    check_second_look,
    judged_before,
    next_commands,
    picture_of_file,
    read_page,
    read_summary,
    table_of,
    writable,
)
from lond.audit.table import read_audit, write_csv, write_parquet, write_parts
from lond.errors import ConfigError, MissingDependencyError
from lond.io.json_files import write_json
from lond.types import Verdict
from lond.webpage.style import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS_FROM = 200_000
"""Images of a table beyond which it is written in parts."""


@dataclass(frozen=True, repr=False)
class Audit(AuditContents):
    """Result of an audit: a table of all images, a summary, a map, and access to the images.

    In a notebook it shows itself. The ``plot_`` functions and ``show`` need matplotlib and return its figures.

    Examples:
        >>> import numpy as np
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="pca"))
        >>> found.counts["clean"], len(found)
        (40, 40)
    """

    def _repr_html_(self) -> str:
        from lond.audit.notebook import audit_html

        return audit_html(self)

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return self.table.to_pandas()

    def show(
        self,
        verdict: Verdict | str | None = Verdict.MISLABELLED,
        label: str | None = None,
        *,
        most: int = 24,
        columns: int = 6,
    ) -> Figure:
        """Draw pictures with a verdict and a given label, those first that the audit is surest of.

        Args:
            verdict: see ``places``.
            label: see ``places``.
            most: how many pictures at most.
            columns: how many side by side.

        Raises:
            ConfigError: there is no such verdict or class, or nothing would be drawn.
            MissingDependencyError: matplotlib is not installed.
        """
        from lond.audit.figures.images import plot_gallery

        if most < 1 or columns < 1:
            raise ConfigError(f"most and columns must be at least 1, got {most} and {columns}")
        places = self.places(verdict, label)
        which = " ".join(
            ["all images" if verdict is None else str(verdict), *([] if label is None else [f"in {label!r}"])]
        )
        many = f"{len(places):,}" if len(places) <= most else f"the {most} surest of {len(places):,}"
        return plot_gallery(self, places[:most], f"{shown(which, 60)}: {many}", columns=columns)

    def plot_margins(self) -> Figure:
        """Draw the two margins of all images against each other; see ``lond.audit.figures.images``."""
        from lond.audit.figures.images import plot_margins

        return plot_margins(self)

    def plot_scores(self) -> Figure:
        """Draw the foreign scores and the threshold; see ``lond.audit.figures.images``."""
        from lond.audit.figures.images import plot_scores

        return plot_scores(self)

    def plot_rates(self, *, most: int = 30) -> Figure:
        """Draw the estimated rates of the ``most`` worst classes; see ``lond.audit.figures.images``."""
        from lond.audit.figures.images import plot_rates

        return plot_rates(self, most=most)

    def plot_confusions(self, *, most: int = 20) -> Figure:
        """Draw which class is taken for which, for the ``most`` involved ones; see ``lond.audit.figures.images``."""
        from lond.audit.figures.images import plot_confusions

        return plot_confusions(self, most=most)

    def plot_map(self) -> Figure:
        """Draw the map of all images; see ``lond.audit.figures.images``."""
        from lond.audit.figures.images import plot_map

        return plot_map(self)

    def save(self, folder: Path | str, *, max_page_bytes: int = 40_000_000) -> list[Path]:
        """Write ``audit.csv``, ``audit.parquet`` (if pyarrow is installed), ``summary.json`` and ``audit.html``.

        A table of more than ``PARTS_FROM`` images is written as Parquet files in ``audit-parts`` instead, if pyarrow is
        installed. A set too large for one page gets pages by class besides; see ``lond.audit.page.by_class``.
        A model for new images is not written: ``audit(..., folder=Path("audit/heads"))`` trains one in that folder,
        where ``lond predict audit`` looks for it. A different table that the folder holds is kept in ``earlier``.

        Raises:
            ConfigError: the folder holds a second look, and this is none.
        """
        folder = Path(folder)
        if "second_look" not in self.summary:
            check_second_look(folder)
        folder.mkdir(parents=True, exist_ok=True)
        summary = self._with_judged_before(folder)
        with keeping_earlier(folder):
            paths = [*self._write_table(folder), folder / SUMMARY]
            write_json(paths[-1], writable(summary))
        commands = next_commands(str(folder), self.summary.get("source"))
        source = self.summary.get("source")
        page = ReviewPage(
            *(self.title, self.table, self.class_names, summary, self.positions, self.thumbnail, commands),
            root=address_of_pictures(source, self.table.path),
            folder=folder_of_source(source),
        )
        write_pages(folder / PAGE, page, max_bytes=max_page_bytes)
        return [*paths, folder / PAGE]

    def _with_judged_before(self, folder: Path) -> dict[str, Any]:
        """Return the summary; a second look that follows another keeps what that one knew of images decided then."""
        look = self.summary.get("second_look")
        before = judged_before(folder)
        if not before or look is None:
            return self.summary
        decided = {name for name, word in zip(self.table.id, self.table.decided, strict=True) if word}
        kept = {name: told for name, told in before.items() if name in decided}
        return {**self.summary, "second_look": {**look, "judged": {**kept, **look.get("judged", {})}}}

    def _write_table(self, folder: Path) -> list[Path]:
        """Write the table and return the files; those that an earlier audit of another size left are removed."""
        parts, files = folder / PARTS, [folder / TABLE, folder / PARQUET]
        if len(self) > PARTS_FROM:
            with suppress(MissingDependencyError):
                write_parts(parts, self.table)
                for old in files:
                    old.unlink(missing_ok=True)
                return [parts]
        write_csv(files[0], self.table)
        with suppress(MissingDependencyError):
            write_parquet(files[1], self.table)
        for old in parts.glob("part-*.parquet"):
            old.unlink()
        return [path for path in files if path.is_file()]

    def export(self, tool: str, folder: Path | str, *, root: Path | str | None = None) -> list[Path]:
        """Write the table for another tool and return the files.

        Args:
            tool: "datalab", "fiftyone", "huggingface" or "label-studio".
            folder: a new folder.
            root: folder that the paths of the table are relative to; the audited one if None.

        Raises:
            ConfigError: there is no such format.
            DataError: the folder is not empty, or a picture is missing.
        """
        from lond.audit.formats.exchange import export_audit

        root = folder_of_source(self.summary.get("source")) if root is None else Path(root)
        return export_audit(self.table, tool, Path(folder), root)

    def write_embeddings(self, path: Path | str) -> None:
        """Write the features that the images were judged by, with their ids, as .npz, .parquet or .npy.

        Raises:
            ConfigError: there are none, or the file has no known ending.
        """
        from lond.audit.formats.embeddings import write_embeddings

        if self.embeddings is None:
            raise ConfigError("an audit that was read back holds no embeddings; write them when it is made")
        write_embeddings(Path(path), self.table.id, self.embeddings)

    @classmethod
    def load(cls, folder: Path | str, *, root: Path | str = ".") -> Self:
        """Read back what ``save`` or ``lond audit`` wrote.

        Map and small pictures are those of the page; where it has none, pictures are read from their files.

        Args:
            folder: where the audit was saved.
            root: folder that the paths of the table are relative to.

        Raises:
            DataError: the folder holds no audit.
        """
        folder = Path(folder)
        table = read_audit(table_of(folder))
        summary = read_summary(folder / SUMMARY)
        page = read_page(folder / PAGE, table)
        small = (lambda place: None) if page is None else page.thumbnails()

        def thumbnail(place: int) -> Image.Image | None:
            picture = small(place)
            return picture_of_file(Path(root) / table.path[place]) if picture is None else picture

        return cls(
            title=f"Audit in {folder.resolve().name}" if page is None else page.title,
            table=table,
            class_names=tuple(name for name, _ in class_rates(summary)) or tuple(sorted({*table.label} - {""})),
            summary=summary,
            positions=None if page is None else page.positions(),
            thumbnail=thumbnail,
        )
