"""kill -9 at random moments of each way of fitting: what was there before stays, and the resumed fit has the bits of one that
was not killed. MAGVA_KILLS sets the number of moments in all; 200 take some minutes."""
import os
import random
import signal
import subprocess
import time
import unittest

from harness import NOT_TRUSTED, PROGRAM, Case

KILLS = int(os.environ.get("MAGVA_KILLS", "12"))

WAYS = {
    "the default, with draws": ["--prior", "horseshoe", "--rank", "2", "--checkpoint", "0.01"],
    "the default, without draws": ["--checkpoint", "0.01"],
    "Algorithm 1": ["--rule", "adadelta-stable", "--rank", "2", "--iterations", "20000", "--checkpoint", "0.01"],
    "minibatches": ["--batch", "50", "--iterations", "500", "--checkpoint", "0.01"],
}


class Killed(Case):
    def setUp(self):
        super().setUp()
        self.logistic_table(n=400)

    def fit(self, words, out, wait=None):
        """Runs a fit, killed after so many seconds; True if it came to its end."""
        process = subprocess.Popen([PROGRAM, "fit", *words, "--out", out], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            _, err = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return False
        self.assertIn(process.returncode, (0, NOT_TRUSTED), err.decode())
        return True

    def posterior(self, folder):
        path = self.folder / folder / "posterior.magva"
        return path.read_bytes() if path.exists() else None

    def test_at_random_moments(self):
        generator = random.Random(os.environ.get("MAGVA_KILL_SEED", "7"))
        for way, words in WAYS.items():
            words = ["data.csv", "--response", "y", *words]
            begin = time.monotonic()
            self.assertTrue(self.fit(words, "whole"))
            seconds = time.monotonic() - begin
            whole = self.posterior("whole")
            self.assertTrue(self.fit([*words, "--seed", "99"], "fit"))
            earlier = self.posterior("fit")
            for _ in range(max(1, KILLS // len(WAYS))):
                done = self.fit(words, "fit", generator.uniform(0, seconds))
                self.assertIn(self.posterior("fit"), [whole] if done else [earlier, whole], way)
                for _ in range(3):  # and again, while it is resumed
                    if not done and (self.folder / "fit.partial/unfinished").exists() and (self.folder / "fit.partial/fit.json").exists():
                        done = self.fit(["--resume"], "fit", generator.uniform(0, seconds))
                if not done and self.posterior("fit") != whole:
                    self.fit(["--resume"] if (self.folder / "fit.partial/fit.json").exists() else words, "fit")
                self.assertEqual(self.posterior("fit"), whole, way)
                self.succeeds("draws", "fit", "-n", 1)
                self.assertTrue(self.fit([*words, "--seed", "99"], "fit"))
                self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["data.csv", "fit", "whole"])


if __name__ == "__main__":
    unittest.main()
