"""The code blocks of the documentation that are marked runnable do run."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import PROGRAM, SOURCE, Case

BLOCK = re.compile(r"^```sh runnable\n(.*?)^```", re.S | re.M)
PAGES = [p for p in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))] if p.exists()]


class Documentation(Case):
    def test_runnable_blocks(self):
        ran = 0
        for page in PAGES:
            folder = self.folder / page.stem
            folder.mkdir()
            shutil.copytree(SOURCE / "data", folder / "data")
            (folder / "bin").mkdir()
            (folder / "bin/magva").symlink_to(pathlib.Path(PROGRAM).resolve())
            for block in BLOCK.findall(page.read_text()):
                with self.subTest(page=page.name, block=block):
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, capture_output=True, text=True,
                                          timeout=250, env=self.environment({"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}))
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    ran += 1
        self.assertGreater(ran, 1)

    def test_exit_codes_of_the_guide_are_those_of_the_help(self):
        guide = dict(re.findall(r"(?m)^\| (\d+) \| (.*) \|$", (SOURCE / "docs/guide.md").read_text()))
        text = re.sub(r"\s+", " ", self.succeeds("--help").stdout.split("Exit codes:")[1])
        for code, meaning in guide.items():
            self.assertIn(f"{code} {meaning}", text)


if __name__ == "__main__":
    unittest.main()
