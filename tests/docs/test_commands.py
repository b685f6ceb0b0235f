"""Every command and every piece of Python that the documentation shows works.

A document is followed from top to bottom in an empty folder, as a reader would: what one block writes, the next one
reads. Data of the reader's own are small stand-ins (``small_world``), and long trainings are cut short by options that
are appended to the shown ones.
"""

from __future__ import annotations

import glob
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from .shown import ROOT, Block, blocks, commands, documents, prose, read
from .small_world import provide, python_names

Call = Callable[..., tuple[int, str, str]]

QUICK_TRAIN = shlex.split("--epochs 3 --set net.width=0.125 --set train.max_steps=3 --threads 1 --accelerator cpu")
CHEAPER = {
    "train": QUICK_TRAIN,
    "compare": [*QUICK_TRAIN, "--seeds", "0", "--jobs", "1"],
    "audit": shlex.split("--size 32 --epochs 2 --folds 2 --map pca --threads 1 --accelerator cpu"),
}
"""Command -> options that are appended; the last of repeated options counts, so the shown ones are still read."""

NOT_RUN = {
    "make": "creates an environment and runs everything, these tests among it; the target must exist",
    "pip": "changes the environment; the extras must exist",
    "ray": "starts processes that stay; tests/results/test_on_cluster.py starts a cluster of its own",
    "torchrun": "starts several processes; tests/frozen/test_shards.py does so; the options must exist",
    "python": "a benchmark on data outside the repository, or a long tool; the script and its options must exist",
}
"""Program -> why it is not started, and what is checked instead."""

ONLY_READ = {
    "demo": "has no shorter form; tests/test_demo.py runs it",
    "--finetune": "trains a whole network on a CPU; tests/audit/test_run.py does so",
    "--from-scratch": "likewise",
    "--ray-address": "needs a running cluster; tests/results/test_on_cluster.py starts one",
}
"""Word of a lond command -> why its options are only checked."""

NEEDS_DATA = re.compile(r"^(cifar|mini80|web-)")
"""Presets whose data are not in the repository: the command must come as far as to ask for them."""

RUNS = re.compile(r"runs/[\w-]+")
"""A run that the text speaks of; the commands that make it may be too long to be run here."""

RENAMED = {
    "mini80": "digits",
    "sym50": "sym40",
    "frozen": "smoke",
    "mini80-sym50-lond-drs-seed1": "digits-sym40-standard-seed0",
    "mini80-sym50-lond-drs-seed2": "digits-sym40-standard-seed1",
}
"""Word of a command that asks for stored results -> that of the runs which stand in for the shown ones."""

CHEAPER_PYTHON = {
    "LondClassifier(epochs=30, warmup_epochs=10)": "LondClassifier(epochs=2, warmup_epochs=1, width=0.125)",
    'audit("photos/")': 'audit("photos/", settings=quick)',
    "digits = load_digits()\n": (
        "digits = load_digits()\nfor key in ('images', 'target'): digits[key] = digits[key][:160]\n"
    ),
}
"""Shown text -> what is run in its place."""

LANGUAGES = {"bash", "python", "text", "json", "csv", "toml", ""}


def shown(language: str) -> list[Block]:
    return [block for file in documents() for block in blocks(file) if block.language == language]


LOND = [(block.place, words) for block in shown("bash") for words in commands(block) if words[0] == "lond"]
OTHERS = [(block.place, words) for block in shown("bash") for words in commands(block) if words[0] != "lond"]


def command_line() -> Any:
    from lond import cli

    return typer.main.get_command(cli.app)


def read_options(words: Sequence[str], command: Any, name: str = "lond") -> None:
    """Let the parser of the command line read the words; it raises what a user would be told."""
    context = command.make_context(name, list(words))
    if getattr(command, "commands", None):
        rest = [*context._protected_args, *context.args]
        if rest:
            assert rest[0] in command.commands, f"there is no command {name} {rest[0]}"
            read_options(rest[1:], command.commands[rest[0]], f"{name} {rest[0]}")


def test_blocks_are_of_known_languages() -> None:
    odd = [block.place for file in documents() for block in blocks(file) if block.language not in LANGUAGES]
    assert not odd, f"not checked by any test: {odd}"
    commands_elsewhere = [
        f"{file}: {line.strip()}"
        for file in documents()
        for line in prose(file).splitlines()
        if line.startswith("    lond ")
    ]
    assert not commands_elsewhere, f"put them into bash blocks: {commands_elsewhere}"


@pytest.mark.parametrize(("place", "words"), LOND, ids=lambda value: value if isinstance(value, str) else value[1:2])
def test_shown_options_exist(place: str, words: list[str]) -> None:
    read_options(words[1:], command_line())


def test_commands_within_sentences_exist() -> None:
    known = command_line().commands
    wrong = []
    for file in documents():
        for text in re.findall(r"`lond ([^`]+)`", prose(file)):
            name, *rest = text.split()
            if name.startswith("-"):
                continue
            if name not in known:
                wrong.append(f"{file}: lond {text}")
                continue
            options = {option for part in known[name].params for option in part.opts} | {"--help"}
            wrong += [f"{file}: lond {text}" for word in rest if word.startswith("--") and word not in options]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("place", "words"), OTHERS, ids=lambda value: value if isinstance(value, str) else None)
def test_what_is_not_run_is_there(place: str, words: list[str]) -> None:
    assert words[0] in NOT_RUN, f"{place}: say in this test how {words[0]!r} is checked"
    if words[0] == "make":
        targets = re.findall(r"^([a-z]+):", read("Makefile"), re.M)
        assert set(words[1:]) <= set(targets)
    elif words[0] == "pip":
        project = tomllib.loads(read("pyproject.toml"))["project"]
        extras = {name for word in words for group in re.findall(r"\[(.*)\]", word) for name in group.split(",")}
        assert extras <= set(project["optional-dependencies"])
    elif words[0] == "torchrun":
        read_options(words[words.index("lond.cli") + 1 :], command_line())
    elif words[0] != "ray":
        source = read(f"{words[2].replace('.', '/')}.py" if words[1] == "-m" else words[1])
        assert all(f'"{word}"' in source for word in words if word.startswith("--"))


class Reader:
    """Follows a document in the current folder."""

    def __init__(self, lond: Call, base_run: Callable[[int], Path]) -> None:
        self.lond, self.base_run = lond, base_run
        self.names: dict[str, Any] = {}

    def shell(self, block: Block) -> None:
        for words in commands(block):
            if words[0] == "lond" and not ONLY_READ.keys() & set(words):
                self.run(words[1:], block.place)

    def run(self, words: list[str], place: str) -> None:
        self.prepare(words)
        words = [part for word in words for part in (sorted(glob.glob(word)) or [word] if "*" in word else [word])]
        if words[0] == "results":
            words = [RENAMED.get(word, word) for word in words]
        # One method shows that a table can be made; other scales than "smoke" must come as far as to ask for data.
        one_method = ["--cells", "Standard"] if words[0] == "reproduce" and "smoke" in words else []
        code, out, error = self.lond(*words, *CHEAPER.get(words[0], []), *one_method)
        told = f"{place}: lond {' '.join(words)}\n{out[-1500:]}\n{error[-1500:]}"
        preset = words[words.index("--preset") + 1] if "--preset" in words else ""
        asks = words[0] == "reproduce" and not {"smoke", "--dry-run", "--list"} & set(words)
        if NEEDS_DATA.match(preset) or asks:
            assert code == 2 and re.search(r"cifar-10|Web-|web-", error), told
        else:
            assert code == 0, told

    def prepare(self, words: list[str]) -> None:
        for word in words[1:]:
            provide(word)
        if words[0] == "audit":
            # Audits of the same document that differ in their settings do not share a folder.
            shutil.rmtree("audit", ignore_errors=True)
        if words[0] not in ("train", "compare"):
            for word in words[1:]:
                self.provide_runs(word)

    def provide_runs(self, word: str) -> None:
        """Put trained runs where a word names some; two if it is a pattern."""
        if not RUNS.fullmatch(word.rstrip("*/")):
            return
        for seed in (0, 1) if word.endswith("*") else (0,):
            folder = Path(word.replace("*", str(seed)))
            if not (folder / "config.json").is_file():
                shutil.copytree(self.base_run(seed), folder, dirs_exist_ok=True)

    def python(self, block: Block) -> None:
        text = block.text
        for word in re.findall(r'"([\w./]+)"', text):
            provide(word)
            if found := RUNS.match(word):
                self.provide_runs(found[0])
        for old, new in CHEAPER_PYTHON.items():
            text = text.replace(old, new)
        code = compile("\n" * (block.line - 1) + text, str(ROOT / block.file), "exec", dont_inherit=True)
        exec(code, self.names)


@pytest.fixture(scope="module")
def kept_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def reader(lond: Call, kept_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    from lond.audit import AuditSettings, ExtractorSettings

    def base_run(seed: int) -> Path:
        folder = kept_runs / str(seed)
        if not folder.exists():
            options = ["--preset", "digits", "--method", "standard", "--seed", seed, "--out", folder]
            code, _, error = lond("train", *options, *QUICK_TRAIN)
            assert code == 0, error
        return folder

    monkeypatch.chdir(tmp_path)
    person = Reader(lond, base_run)
    quick = AuditSettings(ExtractorSettings(size=32), epochs=2, folds=2, map="pca")
    person.names = {"__name__": "shown", "quick": quick, **python_names()}
    return person


FOLLOWED = [file for file in documents() if any(block.language in ("bash", "python") for block in blocks(file))]


@pytest.mark.filterwarnings("ignore")  # so short a training may judge nothing clean, and says so
@pytest.mark.parametrize("file", FOLLOWED)
def test_document_can_be_followed(file: str, reader: Reader) -> None:
    for block in blocks(file):
        if block.language == "bash":
            reader.shell(block)
        elif block.language == "python":
            reader.python(block)


def test_replaced_texts_are_still_shown() -> None:
    everything = "\n".join(block.text for block in shown("python"))
    assert all(text in everything for text in CHEAPER_PYTHON)


@pytest.mark.parametrize(
    "words", [["train", "photos/", "--epoch-count", "3"], ["audti", "photos/"], ["detect"]], ids=lambda words: words[0]
)
def test_a_wrong_command_would_be_found(words: list[str]) -> None:
    with pytest.raises(Exception, match=r"(?i)no such option|no command|missing"):
        read_options(words, command_line())
