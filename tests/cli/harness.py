"""Runs the real program in a temporary folder and looks at what it said and wrote."""
import csv
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("MAGVA_PROGRAM", "magva")
SOURCE = pathlib.Path(os.environ.get("MAGVA_SOURCE", pathlib.Path(__file__).resolve().parents[2]))

USAGE, NOT_TRUSTED, DATA, BUG, IO = 2, 3, 65, 70, 74

# A short run of Algorithm 1: enough for the files, not for the figures.
SHORT = ["--rule", "adadelta-stable", "--iterations", "200", "--rank", "1"]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="magva-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, extra=None):
        env = dict(os.environ, LC_ALL="C.UTF-8")
        env.pop("NO_COLOR", None)
        env.update(extra or {})
        return env

    def magva(self, *words, stdin=None, env=None, text=True, timeout=120):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, input=stdin, capture_output=True, text=text,
                              timeout=timeout, env=self.environment(env))

    def succeeds(self, *words, codes=(0,), **more):
        done = self.magva(*words, **more)
        self.assertIn(done.returncode, codes, f"{words}: {done.stdout}{done.stderr}")
        return done

    def ends(self, *words, **more):
        """A fit that comes to its end, which after a few iterations may be nowhere near the posterior."""
        return self.succeeds("fit", *words, codes=(0, NOT_TRUSTED), **more)

    def fails(self, code, *words, says=(), **more):
        """The exit code, and one sentence on one line that has all the given parts."""
        done = self.magva(*words, **more)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        lines = [line for line in done.stderr.splitlines() if line.startswith("magva: ")]
        self.assertEqual(len(lines), 1, f"one sentence is wanted: {done.stderr}")
        self.assertEqual(done.stderr.splitlines()[-1], lines[0])
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, lines[0])
        return done

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content)
        return path

    def rows(self, name):
        with open(self.folder / name, newline="") as file:
            return list(csv.DictReader(file))

    def record(self, folder="fit"):
        def refuse(text):
            raise AssertionError(f"fit.json holds {text}")
        return json.loads((self.folder / folder / "fit.json").read_text(), parse_constant=refuse)

    def logistic_table(self, name="data.csv", n=120, seed=1, response=True):
        """Two predictors that matter, one that does not, a text column."""
        generator = random.Random(seed)
        lines = ["a,b,c,colour" + (",y" if response else "")]
        for _ in range(n):
            a, b, c = (generator.gauss(0, 1) for _ in range(3))
            colour = generator.choice(["red", "green", "blue"])
            eta = .5 + 1.5 * a - b + (.8 if colour == "red" else 0)
            y = "yes" if generator.random() < 1 / (1 + math.exp(-eta)) else "no"
            lines.append(f"{a:.4f},{b:.4f},{c:.4f},{colour}" + (f",{y}" if response else ""))
        return self.write(name, "\n".join(lines) + "\n")

    def number_table(self, name="numbers.csv", n=80, seed=2):
        generator = random.Random(seed)
        lines = ["x,z,y,count"]
        for _ in range(n):
            x, z = generator.gauss(0, 1), generator.gauss(0, 1)
            y = 1 + 2 * x - z + .5 * generator.gauss(0, 1)
            mean = math.exp(.3 + .5 * x)
            count, product = 0, generator.random()
            while product > math.exp(-mean):
                count, product = count + 1, product * generator.random()
            lines.append(f"{x:.4f},{z:.4f},{y:.4f},{count}")
        return self.write(name, "\n".join(lines) + "\n")
