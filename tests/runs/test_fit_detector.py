"""A detector of the user's choice: fitted to a run, stored with it, and used from then on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from runs.test_detection import config, folders, source  # noqa: F401

from lond.data.split import take
from lond.detect import ALL_DETECTORS
from lond.errors import ConfigError, DamagedFileError, DataError
from lond.runs import load_run, train_run, train_samples
from lond.runs.calibration import CALIBRATION, calibrate, load_calibration, save_calibration
from lond.runs.data import divide, load_data
from lond.runs.detection import EvidenceReader, fit_evidence
from lond.runs.fit_detector import check_name, fit_detector, fit_on_own_data
from lond.runs.run_detector import OWN_SCORE
from lond.runs.trained import load_trained, save_trained
from lond.train.checkpoint import read_state, save_state
from lond.train.runtime import Runtime


@pytest.mark.parametrize("name", [*ALL_DETECTORS])
def test_every_detector_is_fitted_stored_and_used_again(folders: dict[str, Path], name: str, tmp_path: Path) -> None:  # noqa: F811
    trained = load_trained(folders["lond-drs"])
    run, runtime = trained.run, Runtime()
    samples = load_data(run.config)[0]
    split = divide(run.config, samples)
    held_out = take(samples, split.held)
    found = fit_detector(run, name, split.learned_from, held_out, runtime)
    kind = ALL_DETECTORS[name]
    reader = EvidenceReader(run, runtime)
    if kind.fits_on == "nothing":
        assert (found.fitted_on, found.state) == ("-", {})
        by_itself = kind(network=reader.network)
    else:
        fitted_on, evidence = fit_evidence(reader, split.learned_from, held_out).of(kind.fits_on)[-1]
        by_itself = kind(network=reader.network).fit_features(evidence)
        assert found.fitted_on == fitted_on in ("clean", "held-out")
    expected = reader.scores(by_itself, [held_out])
    told = run.predict(held_out, runtime, found)
    assert torch.allclose(told.scores, expected.float(), rtol=1e-4, atol=1e-5)
    save_trained(tmp_path / "run", trained)
    save_calibration(tmp_path / "run", calibrate(told, held_out.labels, 0.2, "held-out", found))
    again = load_run(tmp_path / "run")
    assert again.detector.name == name and again.detector.fitted_on == found.fitted_on
    assert torch.allclose(again.predict(held_out, runtime).scores, told.scores, rtol=1e-5, atol=1e-6)


def test_the_temperature_of_a_stored_run_comes_from_its_held_out_images(folders: dict[str, Path]) -> None:  # noqa: F811
    trained = load_trained(folders["lond-drs"])
    samples = load_data(trained.run.config)[0]
    held_out = take(samples, divide(trained.run.config, samples).held)
    found = fit_on_own_data(trained, "temp-scaling", held_out)
    expected = ALL_DETECTORS["temp-scaling"]().fit_features(EvidenceReader(trained.run).evidence(held_out))
    assert found.fitted_on == "held-out"
    torch.testing.assert_close(found.state, expected.state)


def test_training_with_a_detector_judges_by_it(source: str, tmp_path: Path) -> None:  # noqa: F811
    settings = config(source, "standard")
    train_run(settings, tmp_path / "run", detector="knn")
    run = load_run(tmp_path / "run")
    assert (run.detector.name, run.detector.fitted_on) == ("knn", "clean")
    assert run.calibration is not None and float(run.calibration.known_scores.max()) <= 4
    stored = (tmp_path / "run" / CALIBRATION).read_bytes()
    train_run(settings, tmp_path / "run", detector="knn")
    assert (tmp_path / "run" / CALIBRATION).read_bytes() == stored
    assert "knn, fitted on clean samples" in (tmp_path / "run" / "metrics.json").read_text()


def test_what_cannot_be_fitted_is_told(folders: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    trained = load_trained(folders["standard"])
    samples = load_data(trained.run.config)[0]
    assert fit_on_own_data(trained, "own", samples) is OWN_SCORE
    assert fit_on_own_data(trained, "msp", samples).name == "msp"
    with pytest.raises(ConfigError, match="open-world does not suit"):
        fit_on_own_data(trained, "open-world", samples)
    with pytest.raises(ConfigError, match="magic"):
        check_name("magic")
    check_name("")
    check_name("own")
    bare = train_samples(config("memory", "standard"), samples)
    assert fit_on_own_data(bare, "msp", samples).name == "msp"
    with pytest.raises(DataError, match="does not say where its training images are"):
        fit_on_own_data(bare, "knn", samples)


def test_a_calibration_of_before_and_a_damaged_one(folders: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    save_trained(tmp_path / "run", load_trained(folders["standard"]))
    path = tmp_path / "run" / CALIBRATION
    saved = read_state(path)
    older = {key: value for key, value in saved.state.items() if key != "detector"}
    save_state(path, older, holds="decision", identity=saved.identity)
    found = load_calibration(tmp_path / "run")
    assert found is not None and found.detector == OWN_SCORE
    save_state(path, older | {"detector": {"name": "knn"}}, holds="decision", identity=saved.identity)
    with pytest.raises((DataError, DamagedFileError), match="its detector"):
        load_calibration(tmp_path / "run")
