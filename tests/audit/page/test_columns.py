"""The table as the page's script reads it: nothing is lost, and nothing can leave the data."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
from audit.page.page_samples import CLASSES, HOSTILE, make_table, numbers, texts

from lond.audit.page.columns import (
    array_column,
    encode_columns,
    encode_positions,
    flag_column,
    need_order,
    plain_json,
    sureness,
    table_key,
    text_column,
)
from lond.audit.quality.oddities import ODDITIES
from lond.audit.table import HARD_TO_SEE


def test_columns_decode_to_the_table() -> None:
    table = make_table(300, names=HOSTILE)
    columns = json.loads(plain_json(encode_columns(table, CLASSES)))
    labels = [*columns["labels"], ""]
    assert tuple(texts(columns["id"])) == table.id
    assert tuple(texts(columns["path"])) == table.path
    assert tuple(texts(columns["verdict"])) == table.verdict
    assert tuple(texts(columns["reason"])) == table.reason
    assert tuple(labels[code] for code in numbers(columns["label"])) == table.label
    assert tuple(labels[code] for code in numbers(columns["suggested_label"])) == table.suggested_label
    assert labels[: len(CLASSES)] == list(CLASSES)
    np.testing.assert_allclose(numbers(columns["foreign_score"]), np.asarray(table.foreign_score, dtype=np.float32))
    width = columns["neighbours"]["width"]
    near = numbers(columns["neighbours"]).reshape(-1, width)
    assert tuple(tuple(table.id[at] for at in line) for line in near) == table.neighbours
    repeats = ["" if at < 0 else table.id[at] for at in numbers(columns["duplicate_of"])]
    assert tuple(repeats) == table.duplicate_of


def test_ids_of_other_tables_are_named() -> None:
    table = make_table(10)
    table = replace(table, neighbours=(("elsewhere", table.id[2]), *table.neighbours[1:]))
    columns = encode_columns(table, CLASSES)
    near = numbers(columns["neighbours"]).reshape(10, -1)
    assert near[0, :3].tolist() == [10, 2, -1] and columns["strangers"] == ["elsewhere"]


def test_equal_paths_are_stored_once_and_many_texts_need_wide_codes() -> None:
    table = make_table(700)
    assert encode_columns(replace(table, path=table.id), CLASSES)["path"] == {"type": "same", "as": "id"}
    reasons = tuple(f"reason {row // 2}" for row in range(700))
    column = encode_columns(replace(table, reason=reasons), CLASSES)["reason"]
    assert column["codes"]["type"] == "u2" and tuple(texts(column)) == reasons


def test_positions_fit_the_unit_square_and_lost_ones_are_nan() -> None:
    points = numbers(encode_positions([(0, 10), (4, 12), (math.inf, 0), (2, 11)])).reshape(-1, 2)
    np.testing.assert_allclose(points[[0, 1, 3]], [[0, 0.25], [1, 0.75], [0.5, 0.5]])
    assert np.isnan(points[2]).all()
    assert numbers(encode_positions([(3, 3)])).tolist() == [0.5, 0.5]
    assert numbers(encode_positions([])).tolist() == []


def test_sureness_is_the_confidence_or_that_of_an_older_audit() -> None:
    table = replace(
        make_table(4),
        verdict=("foreign", "foreign", "mislabelled", "clean"),
        confidence=(math.nan, 0.2, 0.3, 0.4),
        p_value=(0.01, 0.01, 0.5, 0.5),
    )
    np.testing.assert_allclose(sureness(table), [0.99, 0.2, 0.3, 0.4], rtol=1e-6)
    assert need_order(table) == [1, 2, 3, 0]


def test_the_least_sure_come_first_then_decided_and_unreadable_ones() -> None:
    table = replace(
        make_table(5),
        verdict=("unreadable", "clean", "clean", "unlabelled", "duplicate conflict"),
        confidence=(math.nan, 0.9, 0.4, 0.5, math.nan),
    )
    assert need_order(table) == [2, 3, 1, 4, 0]
    assert need_order(replace(table, decided=("", "", "keep", "", "accept"))) == [3, 1, 2, 4, 0]


def test_verdicts_on_pictures_that_are_hard_to_see_come_early_however_sure() -> None:
    table = replace(
        make_table(6),
        verdict=("foreign", "mislabelled", "foreign", "clean", "foreign", "foreign"),
        confidence=(0.99, 0.98, 0.97, 0.9, 0.4, 0.6),
        quality=(("dark",), ("grey", "uniform"), ("odd shape",), ("blurred",), (), ("bright",)),
    )
    assert need_order(table) == [4, 0, 1, 5, 3, 2]
    assert need_order(replace(table, decided=("foreign", *[""] * 5))) == [4, 1, 5, 3, 2, 0]
    assert need_order(replace(table, quality=())) == [4, 5, 3, 2, 1, 0]


def test_numbers_are_little_endian_and_texts_are_coded_where_that_is_shorter() -> None:
    assert array_column([1, -2]) == {"type": "i4", "data": "AQAAAP7///8="}
    assert array_column(np.asarray([1.0], dtype=">f4")) == {"type": "f4", "data": "AACAPw=="}
    assert text_column(["a", "b", "a"]) == {"type": "plain", "values": ["a", "b", "a"]}
    assert text_column(["a", "b", "a", "a"])["values"] == ["a", "b"]
    assert numbers(text_column(["a", "b", "a", "a"])["codes"]).tolist() == [0, 1, 0, 0]
    assert text_column(["a", "b"], always_codes=True)["type"] == "codes"


def test_flags_are_bits_of_their_names() -> None:
    column = flag_column([("dark",), (), ("grey", "dark"), ("grey", "grey")])
    assert column["values"] == ["dark", "grey"] and numbers(column["bits"]).tolist() == [1, 0, 3, 2]
    assert flag_column([(), ()])["values"] == []


def test_ranks_invert_the_order() -> None:
    table = make_table(50)
    rank = numbers(encode_columns(table, CLASSES)["rank"])
    assert [int(rank[row]) for row in need_order(table)] == list(range(50))


def test_json_can_stand_in_a_script() -> None:
    text = plain_json({"</script>": [math.nan, -math.inf, np.float32(0.5)], 1: "ä&"})
    assert text == '{"\\u003c/script\\u003e":[null,null,0.5],"1":"\\u00e4\\u0026"}'


def test_key_tells_tables_apart() -> None:
    table = make_table(9)
    assert table_key(table) == table_key(replace(table, confidence=(0.0,) * 9))
    assert len({table_key(table), table_key(replace(table, label=("x",) * 9)), table_key(table.take([0]))}) == 3


def test_the_script_knows_which_pictures_are_hard_to_see() -> None:
    script = files("lond.audit.page").joinpath("assets/core.js").read_text(encoding="utf-8")
    (names,) = re.findall(r"const HARD_TO_SEE = (\[.*\]);", script)
    assert set(json.loads(names)) == HARD_TO_SEE < set(ODDITIES)
