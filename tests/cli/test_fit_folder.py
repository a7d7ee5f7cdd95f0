"""A folder is one thing: replaced in one step, and refused, by the name of the file, if anything in it was changed."""
import fcntl
import os
import random
import shutil
import subprocess
import unittest

from harness import DATA, IO, NOT_TRUSTED, PROGRAM, SHORT, USAGE, Case

FILES = ("fit.json", "trace.csv", "posterior.magva", "model.json", "check.json")


class Replace(Case):
    def setUp(self):
        super().setUp()
        self.logistic_table()
        self.fit()

    def fit(self, *words, **more):
        return self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "fit", *words, codes=(0, 3), **more)

    def content(self, folder="fit"):
        return {p.name: p.read_bytes() for p in (self.folder / folder).iterdir() if p.is_file()}

    def test_the_earlier_fit_stays_until_there_is_another(self):
        before = self.content()
        process = subprocess.Popen([PROGRAM, "fit", "data.csv", "--response", "y", "--rule", "adam", "--iterations", "100000000",
                                    "--checkpoint", "0.02", "--out", "fit"], cwd=self.folder, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.wait_for("fit.partial/checkpoint.magva")
        self.assertEqual(self.content(), before)
        self.succeeds("summary", "fit")
        self.fails(IO, "fit", "data.csv", "--response", "y", *SHORT, "--out", "fit", says="another magva fit")
        self.fails(IO, "fit", "--resume", "--out", "fit", says="another magva fit")
        process.kill()
        process.wait()
        self.assertEqual(self.content(), before)
        self.fails(DATA, "fit", "data.csv", "--response", "none", *SHORT, "--out", "fit")
        self.assertTrue((self.folder / "fit.partial/checkpoint.magva").exists(), "a typo must not lose what was begun")
        self.fit("--seed", 2)
        self.assertFalse((self.folder / "fit.partial").exists())
        self.assertNotEqual(self.content()["posterior.magva"], before["posterior.magva"])
        self.assertEqual(sorted(self.content()), sorted(FILES))

    def wait_for(self, name):
        import time
        end = time.monotonic() + 60
        while not (self.folder / name).exists():
            self.assertLess(time.monotonic(), end, f"{name} did not come")
            time.sleep(.005)

    def test_a_failed_fit_changes_nothing(self):
        before = self.content()
        for words in (["--response", "none"], ["--response", "y", "--rule", "adam", "--rank", "1000"]):
            self.assertNotEqual(self.magva("fit", "data.csv", *words, "--out", "fit").returncode, 0)
            self.assertEqual(self.content(), before)
            self.assertFalse((self.folder / "fit.partial").exists())

    def test_what_belongs_to_the_earlier_fit_goes_and_the_rest_stays(self):
        self.succeeds("report", "fit")
        self.succeeds("draws", "fit", "-n", 3, "--out", "fit/draws.csv")
        self.succeeds("predict", "fit", "data.csv", "--out", "fit/p.csv")
        self.write("fit/notes.txt", "mine")
        self.write("fit/plots/one.txt", "mine too")
        self.fit("--seed", 3)
        left = sorted(p.name for p in (self.folder / "fit").iterdir())
        self.assertEqual(left, sorted([*FILES, "notes.txt", "plots"]))
        self.assertEqual((self.folder / "fit/notes.txt").read_text(), "mine")
        self.assertEqual((self.folder / "fit/plots/one.txt").read_text(), "mine too")

    def test_through_a_link_and_from_inside(self):
        shutil.move(self.folder / "fit", self.folder / "real")
        (self.folder / "fit").symlink_to("real")
        self.fit("--seed", 4)
        self.assertTrue((self.folder / "fit").is_symlink())
        self.assertEqual(self.record("real")["options"]["seed"], 4)
        inside = subprocess.run([PROGRAM, "fit", "../data.csv", "--response", "y", *SHORT, "--seed", "5", "--out", "."],
                                cwd=self.folder / "real", capture_output=True, text=True)
        self.assertIn(inside.returncode, (0, 3), inside.stderr)
        self.assertEqual(self.record("real")["options"]["seed"], 5)
        self.assertEqual(sorted(p.name for p in (self.folder / "real").iterdir()), sorted(FILES))
        self.succeeds("draws", "fit", "-n", 2)

    def test_other_folders_are_left_alone(self):
        self.write("other/file.txt", "something")
        self.fails(USAGE, "fit", "data.csv", "--response", "y", *SHORT, "--out", "other", says="other files")
        self.write("new.partial/file.txt", "something")
        self.fails(USAGE, "fit", "data.csv", "--response", "y", *SHORT, "--out", "new", says="new.partial")
        self.assertEqual((self.folder / "new.partial/file.txt").read_text(), "something")

    def test_a_fit_that_was_not_put_in_place_is_found(self):
        shutil.move(self.folder / "fit", self.folder / "fit.partial")
        self.write("fit.partial/unfinished", "")
        self.fails(DATA, "draws", "fit", says="--resume")
        self.succeeds("fit", "--resume", "--out", "fit", codes=(0, 3))
        self.assertEqual(sorted(self.content()), sorted(FILES))
        self.succeeds("draws", "fit", "-n", 2)


class OneThing(Case):
    def setUp(self):
        super().setUp()
        self.logistic_table()
        self.number_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "a", codes=(0, 3))
        self.succeeds("fit", "numbers.csv", "--response", "y", *SHORT, "--exclude", "count", "--out", "b", codes=(0, 3))

    READERS = (["summary", "{}"], ["draws", "{}", "-n", "2"], ["predict", "{}", "data.csv"], ["report", "{}"],
               ["compare", "{}", "{}"], ["convert", "data.csv", "--like", "{}", "--out", "new.magva"])

    def refused(self, folder, file, readers=READERS):
        for words in readers:
            self.fails(DATA, *(word.format(folder) for word in words), says=[f"{folder}/{file}", "changed"])

    def test_files_of_two_fits(self):
        for name in ("trace.csv", "posterior.magva", "model.json"):
            shutil.copytree(self.folder / "b", self.folder / "mixed")
            shutil.copy(self.folder / "a" / name, self.folder / "mixed" / name)
            self.refused("mixed", name)
            shutil.rmtree(self.folder / "mixed")
        shutil.copytree(self.folder / "b", self.folder / "mixed")
        shutil.copy(self.folder / "a/fit.json", self.folder / "mixed/fit.json")
        self.fails(DATA, "draws", "mixed", says=["mixed/", "another fit"])

    def test_an_edited_record_is_called_that(self):
        path = self.folder / "a/fit.json"
        text = path.read_text()
        for edited in (text.replace('"trusted"', '"Trusted"'), text.replace("magva fit", "magva fat"), text + " ", text[:-30], "{}", ""):
            path.write_text(edited)
            self.refused("a", "fit.json", self.READERS[:2])

    def test_any_flipped_bit_is_noticed(self):
        generator = random.Random(5)
        for name in FILES:
            path = self.folder / "a" / name
            whole = path.read_bytes()
            for _ in range(12):
                at = generator.randrange(len(whole))
                path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << generator.randrange(8))]) + whole[at + 1:])
                self.refused("a", name, [self.READERS[generator.randrange(len(self.READERS))]])
            path.write_bytes(whole)
        self.succeeds("draws", "a", "-n", 2)

    def test_a_missing_file(self):
        (self.folder / "a/model.json").unlink()
        self.fails(IO, "draws", "a", says="model.json")


if __name__ == "__main__":
    unittest.main()
