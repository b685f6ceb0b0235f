"""Where pictures lie."""

from pathlib import Path

from lond.audit.formats.files import picture_path


def test_paths_are_absolute_and_printable(tmp_path: Path) -> None:
    assert picture_path("a/b.png", tmp_path) == f"{tmp_path.as_posix()}/a/b.png"
    assert picture_path("b.png", None) == f"{Path.cwd().as_posix()}/b.png"
    assert picture_path("odd\udc80.png", tmp_path).endswith("odd\\udc80.png")
