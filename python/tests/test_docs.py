"""The Python blocks of the documentation run; with MAGVA_FIGURES the gallery's figures are written anew."""

import importlib.util
import os
import pathlib
import re
import shutil

import pytest

SOURCE = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```python( needs-bridgestan)?\n(.*?)^```", re.S | re.M)
PAGES = [page for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))] if BLOCK.search(page.read_text())]
OPTIONAL = ["jax", "numpyro", "pymc", "sklearn", "matplotlib", "scipy", "arviz"]


def block_of_page(page):
    for bridgestan, text in BLOCK.findall(page.read_text()):
        if not bridgestan or "BRIDGESTAN" in os.environ:
            yield text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(SOURCE).as_posix())
def test_blocks_run(page, tmp_path, monkeypatch):
    blocks = list(block_of_page(page))
    for package in OPTIONAL:
        if any(re.search(rf"^(import|from) {package}\b|\bto_arviz\b.*(?=.*{package})", text, re.M) for text in blocks):
            pytest.importorskip(package)
    if any("to_arviz" in text for text in blocks) and importlib.util.find_spec("arviz") is None:
        pytest.skip("ArviZ is not installed")
    monkeypatch.setenv("MPLBACKEND", "agg")
    if "MAGVA_PROGRAM" in os.environ:
        monkeypatch.setenv("PATH", f"{pathlib.Path(os.environ['MAGVA_PROGRAM']).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SOURCE / "data", tmp_path / "data")
    (tmp_path / "figures").mkdir()
    names: dict[str, object] = {}
    for text in blocks:
        exec(compile(text, str(page), "exec"), names)
    if "MAGVA_FIGURES" in os.environ:
        for figure in (tmp_path / "figures").iterdir():
            shutil.copy(figure, SOURCE / os.environ["MAGVA_FIGURES"] / figure.name)
