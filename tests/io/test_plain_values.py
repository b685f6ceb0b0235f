from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from lond.errors import ConfigError
from lond.io.plain_values import from_plain


@dataclass(frozen=True)
class Inner:
    number: float
    kind: Literal["a", 1] = "a"


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner
    shelf: ClassVar[str] = "not an entry"
    flag: bool = False
    pair: tuple[int, str] = (0, "")
    many: tuple[float, ...] = ()
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    maybe: Inner | None = None
    either: int | str = 0
    place: Path = Path(".")
    rest: Any = None


FULL = {
    "name": "n", "inner": {"number": 2, "kind": 1}, "flag": True, "pair": [1, "b"], "many": [1, 2.5],
    "by_name": {"x": {"number": 1.5}}, "maybe": {"number": 0}, "either": "word", "place": "a/b", "rest": [1, {"y": 2}],
}  # fmt: skip


def test_every_type_is_built() -> None:
    built = from_plain(Outer, FULL)
    assert built.inner == Inner(2.0, 1) and isinstance(built.inner.number, float)
    assert built.pair == (1, "b") and built.many == (1.0, 2.5)
    assert built.by_name == {"x": Inner(1.5)} and built.maybe == Inner(0.0)
    assert built.either == "word" and built.place == Path("a/b") and built.rest == [1, {"y": 2}]
    assert from_plain(Outer, asdict(built)) == built
    assert from_plain(Outer, {"name": "n", "inner": {"number": 1}}) == Outer("n", Inner(1.0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nam": 1}, "unknown key 'nam'; did you mean 'name'?"),
        ({"shelf": "x"}, "unknown key 'shelf'; known: name, inner"),
        ({"inner": {"number": 1, "knd": "a"}}, "unknown key 'inner.knd'; did you mean 'inner.kind'?"),
        ({"inner": {}}, "inner.number is missing"),
        ({"inner": None}, "inner must be a table, not None"),
        ({"name": None}, "name is None; it must be of type str"),
        ({"flag": 1}, "flag is 1; it must be of type bool"),
        ({"inner": {"number": True}}, "inner.number is True; it must be of type float"),
        ({"inner": {"number": 10**400}}, "it must be of type float"),
        ({"inner": {"number": 1, "kind": True}}, "inner.kind is True; choose one of a, 1"),
        ({"pair": [1]}, "pair is [1]; it must be a list of 2 values"),
        ({"pair": [1.5, "b"]}, "pair[0] is 1.5; it must be of type int"),
        ({"many": "12"}, "many is '12'; it must be a list"),
        ({"by_name": {"x": {"number": "1"}}}, "by_name.x.number is '1'"),
        ({"by_name": []}, "by_name is []; it must be of type Mapping"),
        ({"maybe": {"number": "1"}}, "maybe.number is '1'; it must be of type float"),
        ({"either": 1.5}, "either is 1.5; it must be int | str"),
        ({"name": ["long" * 100]}, "...; it must be of type str"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_path(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        from_plain(Outer, FULL | change)
    assert words in str(error.value)
    assert len(str(error.value)) < 200


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="the content must be a table, not \\[\\]"):
        from_plain(Outer, [])
    with pytest.raises(ConfigError, match="a.b must be a table"):
        from_plain(Outer, 3, "a.b.")
