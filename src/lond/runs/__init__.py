"""Runs: from a configuration to a folder that documents the result.

The folder holds ``config.json`` (what was asked), ``manifest.json`` (data, noise, versions), ``log.jsonl`` (every
epoch), ``checkpoint.safetensors`` (complete state), ``metrics.json`` (result) and ``verdicts.csv`` (per sample).
"""

from lond.runs.build import build
from lond.runs.calibration import FALSE_ALARM_RATE, Calibration, calibrate, save_calibration
from lond.runs.data import Shape, in_memory, load_data, shape_of
from lond.runs.folder import CONFIG, MANIFEST, METRICS, VERDICTS
from lond.runs.image_tables import PredictionTable, prediction_rows
from lond.runs.trained import LoadedRun, Trained, load_run, load_trained, save_trained
from lond.runs.training import train_run, train_samples

__all__ = [
    "CONFIG",
    "FALSE_ALARM_RATE",
    "MANIFEST",
    "METRICS",
    "VERDICTS",
    "Calibration",
    "LoadedRun",
    "PredictionTable",
    "Shape",
    "Trained",
    "build",
    "calibrate",
    "in_memory",
    "load_data",
    "load_run",
    "load_trained",
    "prediction_rows",
    "save_calibration",
    "save_trained",
    "shape_of",
    "train_run",
    "train_samples",
]
