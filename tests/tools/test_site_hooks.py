from types import SimpleNamespace

from tools.site_hooks import ROOT, SHOWN, on_page_markdown


def page(name: str) -> SimpleNamespace:
    return SimpleNamespace(file=SimpleNamespace(src_uri=name))


def test_files_of_the_root_stand_for_their_pages() -> None:
    for name, file in SHOWN.items():
        shown = on_page_markdown("a placeholder", page(name), config=None, files=None)
        assert shown.splitlines()[0] == (ROOT / file).read_text(encoding="utf-8").splitlines()[0]
        assert "](docs/" not in shown
        assert (ROOT / "docs" / name).is_file()


def test_other_pages_stay_as_they_are() -> None:
    assert on_page_markdown("[link](docs/x.md)", page("train.md")) == "[link](docs/x.md)"
