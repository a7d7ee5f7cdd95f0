"""Every write, fsync, rename and mmap of a fit fails once, and a sample of its allocations: a clear error or success, and never
a lost or half-written file."""
import os
import unittest

from harness import DATA, IO, NOT_TRUSTED, Case

SHIM = os.environ.get("MAGVA_FAULT_SHIM")
ALLOCATIONS = int(os.environ.get("MAGVA_FAULTS", "40"))


@unittest.skipUnless(SHIM, "the shim that makes calls fail was not built")
class Faults(Case):
    WORDS = ["fit", "data.magva", "--rule", "adam", "--rank", "1", "--iterations", "300", "--checkpoint", "0.001",
             "--threads", "1"]

    def setUp(self):
        super().setUp()
        self.logistic_table(n=40)
        self.succeeds("convert", "data.csv", "--response", "y", "--out", "data.magva")
        self.succeeds(*self.WORDS, "--seed", 2, "--out", "fit", codes=(0, NOT_TRUSTED))
        self.earlier = self.content()
        self.succeeds(*self.WORDS, "--out", "new", codes=(0, NOT_TRUSTED))
        self.new = self.content("new")

    def content(self, folder="fit"):
        return {name: (self.folder / folder / name).read_bytes() for name in ("posterior.magva", "model.json")}

    def run_with(self, call, number, count=None):
        env = {"LD_PRELOAD": SHIM, "MAGVA_FAULT": f"{call}:{number}"}
        if count:
            env["MAGVA_FAULT_COUNT"] = str(count)
        return self.magva(*self.WORDS, "--out", "fit", env=env)

    def calls(self, call):
        self.run_with(call, 0, self.folder / "count")
        self.restore()
        return int((self.folder / "count").read_text())

    def restore(self):
        self.succeeds(*self.WORDS, "--seed", 2, "--out", "fit", codes=(0, NOT_TRUSTED))

    def check(self, call, numbers):
        for number in numbers:
            done = self.run_with(call, number)
            what = f"{call} {number}: {done.returncode} {done.stderr}"
            self.assertIn(done.returncode, (0, NOT_TRUSTED, DATA, IO), what)
            failed = done.returncode in (DATA, IO)
            self.assertEqual(done.stderr.count("magva: "), 1 if failed else 0, what)
            now = self.content()
            self.assertIn(now, [self.earlier, self.new] if failed else [self.new], what)
            self.succeeds("summary", "fit")
            if now == self.new:
                self.restore()
            self.assertEqual([p for p in (self.folder / "fit").iterdir() if p.suffix == ".part"], [], what)
        self.restore()
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if p.name.startswith("fit")), ["fit"])

    def every(self, call, most):
        count = self.calls(call)
        self.assertGreater(count, 0)
        step = max(1, count // most)
        self.check(call, range(1, count + 1, step))

    def test_write(self):
        self.every("write", 60)

    def test_fsync(self):
        self.every("fsync", 60)

    def test_rename(self):
        self.every("rename", 60)

    def test_mmap(self):
        self.every("mmap", 60)

    def test_malloc(self):
        self.every("malloc", ALLOCATIONS)


if __name__ == "__main__":
    unittest.main()
