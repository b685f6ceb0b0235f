"""The command that audits a set: parsing and printing only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lond.cli.audit_notes import print_copies, print_model
from lond.cli.cluster import LOCAL, AddressOption, OnOption, check_place, chosen_cluster
from lond.cli.shared import Accelerator, LogTo, Threads, note, out, resumable, say, starting
from lond.errors import ConfigError, counted

if TYPE_CHECKING:
    from lond.audit.result import Audit
    from lond.cluster.tasks import RayCluster
    from lond.frozen.extractor import ExtractorSettings
    from lond.frozen.shards import ReadingSpread, TorchrunSpread
    from lond.presets.for_audit import TrainingKind
    from lond.train.runtime import RuntimeSettings

SHOWN = 10
"""Unreadable images of which this many are printed."""

FEW_FOREIGN = 5
"""Images by which the estimate must exceed twice what was called foreign to be worth a line."""

VAGUE = 50
"""Width in points above which an interval is uninformative."""


def audit(
    source: Annotated[str, typer.Argument(help="Folder of class folders, table, .npz, .tar, COCO or YOLO set, ...")],
    folder: Annotated[
        Path, typer.Option("--out", help="Output folder for the table, the page and the trained heads.")
    ] = Path("audit"),
    test: Annotated[str, typer.Option(help="Test images to search for copies of audited images.")] = "",
    network: Annotated[
        str,
        typer.Option("--network", "--backbone", help="Frozen network: efficientnet-lite0 to -lite2 or timm:<model>."),
    ] = "efficientnet-lite0",
    size: Annotated[int, typer.Option(help="Image size in pixels; 0 = the network's own, 224 to 260.")] = 0,
    mirrored: Annotated[
        bool | None,
        typer.Option("--mirrored/--one-view", help="Also use the mirrored image; takes twice the time."),
    ] = None,
    whole: Annotated[
        bool | None,
        typer.Option("--whole/--centre", help="See all pictures whole, padded to squares, or their centre squares."),
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Run the network in eight-bit integers; faster on a CPU (extra int8).")
    ] = False,
    route: Annotated[str, typer.Option(help="Runtime of the network: auto, torch, compiled or openvino.")] = "auto",
    embeddings: Annotated[
        Path | None, typer.Option(help="Your own features (.npy, .npz or .parquet) instead of the frozen network's.")
    ] = None,
    pred_probs: Annotated[
        Path | None,
        typer.Option(help="Out-of-fold class probabilities of your own model (.npy, .npz or .parquet)."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(help="CSV of decisions from the page: use them as ground truth and judge the other images again."),
    ] = None,
    finetune: Annotated[
        bool, typer.Option("--finetune", help="Train the whole pretrained network, not only heads.")
    ] = False,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Train a network without pretrained weights instead of heads.")
    ] = False,
    epochs: Annotated[
        int, typer.Option(help="Training epochs; 0 = 9 (heads), 12 (--finetune) or 60 (--from-scratch).")
    ] = 0,
    folds: Annotated[int, typer.Option(help="Cross-validation folds; 0 = 5, or 2 to 5 when networks are trained.")] = 0,
    rate: Annotated[
        float | None, typer.Option(help="Share of known images that may be called foreign; default: 0.05.")
    ] = None,
    map_kind: Annotated[str, typer.Option("--map", help="Map of the images: auto, tsne, pca or none.")] = "auto",
    cache: Annotated[Path | None, typer.Option(help="Folder of cached features; default: OUT/features.")] = None,
    write_embeddings: Annotated[
        Path | None, typer.Option(help="Also write the features to this file (.npz, .parquet or .npy).")
    ] = None,
    logs: LogTo = None,
    seed: Annotated[int, typer.Option(help="Seed of folds and training.")] = 0,
    accelerator: Accelerator = "auto",
    threads: Threads = 0,
    on: OnOption = LOCAL,
    ray_address: AddressOption = "",
    jobs: Annotated[int, typer.Option(help="Workers that read images on Ray; 0 = as many as fit.")] = 0,
) -> None:
    """Judge every image of SOURCE as clean, mislabelled or foreign, and write a table and a review page."""
    starting("audit")
    from lond.audit.changed import told_changes, told_undecided
    from lond.audit.earlier_tables import kept_tables, told_kept
    from lond.audit.formats.embeddings import check_suffix
    from lond.audit.risen import why_risen
    from lond.audit.run import audit as run_audit
    from lond.audit.saved import check_second_look
    from lond.audit.settings import AuditSettings
    from lond.audit.shared_reading import read_own_shard
    from lond.data.sources import check_apart
    from lond.progress.sinks import recorded
    from lond.progress.work import overall
    from lond.train.runtime import RuntimeSettings

    train = _training_kind(finetune, from_scratch)
    beside = _processes_beside(on, ray_address, jobs)
    for images in (source, test):
        check_apart(folder, images, "--out")
        if cache is not None:
            check_apart(cache, images, "--cache")
    if decisions is None:
        check_second_look(folder)
    settings = AuditSettings(
        train=train,
        extractor=_extractor(folder / "heads", network, size, mirrored, whole, route, int8),
        epochs=epochs,
        seed=seed,
        folds=folds,
        false_alarm_rate=AuditSettings.false_alarm_rate if rate is None else rate,
        map=map_kind,  # type: ignore[arg-type]  # the user's word; the map checks it
    )
    if write_embeddings is not None:
        check_suffix(write_embeddings)
    runtime, features = RuntimeSettings(accelerator, threads=threads), cache or folder / "features"
    if beside is not None and beside.rank:
        # The first process audits; the others only help it to read.
        read_own_shard(source, beside, features, settings.extractor, runtime, features=embeddings is None)
        return
    with (
        resumable(lambda: _told_reused(features)),
        chosen_cluster(on, ray_address) as cluster,
        recorded(logs or (), folder, "audit"),
        overall("audit", lines=True) as work,
    ):
        found = run_audit(
            source,
            test=test or None,
            embeddings=embeddings,
            pred_probs=pred_probs,
            decisions=decisions,
            settings=settings,
            cache=features,
            folder=folder / "heads",
            runtime=runtime,
            progress=work.part,
            spread=beside if cluster is None else _on_ray(cluster, runtime, jobs),
        )
        work.begin("writing the page")
        _keep_decisions(found, decisions, folder)
        earlier = kept_tables(folder)
        written = found.save(folder, max_page_bytes=settings.max_page_bytes)
    if write_embeddings is not None:
        found.write_embeddings(write_embeddings)
    replaced = kept_tables(folder)[len(earlier) :]
    again = bool(replaced) and decisions is not None
    _print_summary(found, why_risen(replaced[-1], found) if again else {})
    if again and (changes := told_changes(replaced[-1], found)):
        say(changes)
    if again and (undecided := told_undecided(replaced[-1], found, folder)):
        note(undecided)
    for kept in replaced:
        say(told_kept(kept))
    _print_places(found, folder, written[0])


def _told_reused(features: Path) -> str:
    """Return what of an interrupted audit the next one reuses, by the folder of its features."""
    from lond.frozen.cache import ROWS_A_FILE

    if any(features.glob("*/*.safetensors")):
        return "the features stored so far are reused"
    return f"nothing is stored yet; features are stored {ROWS_A_FILE:,} images at a time, and when all are read"


def _training_kind(finetune: bool, from_scratch: bool) -> TrainingKind:
    """Return what is trained, of which the options name at most one."""
    if finetune and from_scratch:
        raise ConfigError("choose one of --finetune and --from-scratch")
    return "finetune" if finetune else "scratch" if from_scratch else "heads"


def _processes_beside(on: str, ray_address: str, jobs: int) -> TorchrunSpread | None:
    """Return the processes that torchrun started beside this one, if any, after a check of where to read images."""
    from lond.frozen.shards import TorchrunSpread

    check_place(on, ray_address)
    beside = TorchrunSpread.here()
    if jobs < 0 or (on == LOCAL and jobs) or (beside and on != LOCAL):
        raise ConfigError("--jobs is for --on ray, and must not be negative; torchrun and --on ray exclude each other")
    return beside


def _extractor(
    heads: Path, network: str, size: int, mirrored: bool | None, whole: bool | None, route: str, int8: bool
) -> ExtractorSettings:
    """Return the frozen network with the views of an earlier audit's heads, unless the options say which.

    Raises:
        ConfigError: the options ask for another part of the pictures than the earlier audit saw.
    """
    from lond.audit.judge.earlier import usual_extractor

    found = usual_extractor(heads, network, size, whole=whole, route=route, precision="int8" if int8 else "full")
    return found if mirrored is None else replace(found, mirrored=mirrored)


def _keep_decisions(found: Audit, decisions: Path | None, folder: Path) -> None:
    """Copy the decisions of a second look beside it, under a name of its own."""
    from lond.audit.saved import kept_decisions
    from lond.io.atomic import write_atomically

    if decisions is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(kept_decisions(folder, found.summary["second_look"]["key"]), decisions.read_bytes())


def _print_places(found: Audit, folder: Path, table: Path) -> None:
    """Print the output paths and the next command."""
    from lond.audit.saved import PAGE, advice_after, kept_decisions

    look = found.summary.get("second_look")
    if look:
        unsure = look["decided"] - look["taught"]
        skipped = f"; {counted(unsure, 'image')} marked not sure left aside" if unsure else ""
        say(f"second look: {counted(look['taught'], 'decided image')} taken as truth{skipped}")
        say(f"decisions: {kept_decisions(folder, look['key'])}")
    print_model(folder)
    out.print(f"table: {table}\npage:  {folder / PAGE}", markup=False, soft_wrap=True)
    say(advice_after(str(folder), look["decided"] if look else 0, found.summary.get("source")))


def _on_ray(cluster: RayCluster, runtime: RuntimeSettings, workers: int) -> ReadingSpread:
    from lond.frozen.shards import RaySpread

    return RaySpread(cluster, cluster.needs(runtime.threads, runtime.accelerator), workers, tell=note)


def _print_summary(found: Audit, risen: Mapping[str, str]) -> None:
    """Print counts, rates and notes; ``risen`` says of rates that are higher than before why they are."""
    from rich.table import Table

    table = Table("verdict", "images", title=found.title, title_justify="left")
    for verdict, count in found.summary["counts"].items():
        table.add_row(verdict, str(count))
    out.print(table)
    for name, title in (("wrong", "wrong labels"), ("foreign", "foreign images")):
        share = found.summary["rates"].get(name)
        if share:
            low, high = 100 * share["low"], 100 * share["high"]
            doubt = "; too few images to tell" if high - low > VAGUE else ""
            out.print(f"estimated {title}: {100 * share['estimate']:.1f} % ({low:.1f} to {high:.1f} %{doubt})")
            if name in risen:
                say(risen[name])
    share, called = found.summary["rates"].get("foreign"), found.counts["foreign"]
    if share and share["estimate"] * len(found) > 2 * called + FEW_FOREIGN:
        advice = "on the page, sort all images by foreign score"
        say(f"by the estimate, more images may be foreign than are called so; {advice}")
    print_copies(found.table)
    reasons = [f"{name}: {why}" for name, why in zip(found.table.id, found.table.reason, strict=True) if why]
    notes = [*found.summary["notes"], *(f"unreadable: {text}" for text in reasons[:SHOWN])]
    if len(reasons) > SHOWN:
        notes.append(f"unreadable: {len(reasons) - SHOWN} more (the table has all reasons)")
    if found.summary["leaks"]:
        leaks = len(found.summary["leaks"])
        notes.append(
            f"{counted(leaks, 'image')} {'is' if leaks == 1 else 'are'} in the test set as well (summary.json)"
        )
    for text in notes:
        note(text)
