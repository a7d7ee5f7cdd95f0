"""The Python blocks of the documentation run, and with BRIDGESTAN the commands and R of the pages on Stan;
with MAGVA_FIGURES the gallery's figures are written anew."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?=python|\w+ needs-bridgestan)(python|sh|r)( needs-bridgestan)?\n(.*?)^```", re.S | re.M)
PAGES = [page for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))] if BLOCK.search(page.read_text())]
OPTIONAL = ["jax", "numpyro", "pymc", "sklearn", "matplotlib", "scipy", "arviz"]


def blocks_of(page):
    """Pairs of a language and a block."""
    blocks = BLOCK.findall(page.read_text())
    return [(language, text) for language, bridgestan, text in blocks if not bridgestan or "BRIDGESTAN" in os.environ]


def run_r(text):
    """Skipped without R and the two packages that the documentation uses."""
    packages = "stopifnot(requireNamespace('jsonlite'), requireNamespace('posterior'))"
    if shutil.which("Rscript") and subprocess.run(["Rscript", "-e", packages], capture_output=True).returncode == 0:
        subprocess.run(["Rscript", "-e", text], check=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(SOURCE).as_posix())
def test_blocks_run(page, tmp_path, monkeypatch):
    blocks = blocks_of(page)
    for package in OPTIONAL:
        if any(re.search(rf"^(import|from) {package}\b|\bto_arviz\b.*(?=.*{package})", text, re.M) for _, text in blocks):
            pytest.importorskip(package)
    if any("to_arviz" in text for _, text in blocks) and importlib.util.find_spec("arviz") is None:
        pytest.skip("ArviZ is not installed")
    monkeypatch.setenv("MPLBACKEND", "agg")
    if "MAGVA_PROGRAM" in os.environ:
        monkeypatch.setenv("PATH", f"{pathlib.Path(os.environ['MAGVA_PROGRAM']).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SOURCE / "data", tmp_path / "data")
    (tmp_path / "figures").mkdir()
    names: dict[str, object] = {}
    for language, text in blocks:
        if language == "sh":
            subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)
        elif language == "r":
            run_r(text)
        else:
            exec(compile(text, str(page), "exec"), names)
    if "MAGVA_FIGURES" in os.environ:
        for figure in (tmp_path / "figures").iterdir():
            shutil.copy(figure, SOURCE / os.environ["MAGVA_FIGURES"] / figure.name)
