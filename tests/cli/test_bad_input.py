"""Every bad input gets one sentence that names the place, and the documented exit code."""
import gzip
import os
import unittest

from harness import DATA, IO, SHORT, USAGE, Case


class BadTables(Case):
    def fit_fails(self, code, *words, says=(), **more):
        done = self.fails(code, "fit", *words, "--out", "fit", says=says, **more)
        self.assertFalse((self.folder / "fit").exists(), "a fit that never began leaves no folder")
        return done

    def test_missing_file(self):
        self.fit_fails(IO, "nowhere.csv", "--response", "y", says="nowhere.csv")

    def test_folder_instead_of_file(self):
        (self.folder / "dir").mkdir()
        self.fit_fails(IO, "dir", "--response", "y", says="dir")

    def test_empty_file(self):
        self.write("empty.csv", "")
        self.fit_fails(DATA, "empty.csv", "--response", "y", says=["empty.csv", "empty"])

    def test_header_only(self):
        self.write("head.csv", "a,y\n")
        self.fit_fails(DATA, "head.csv", "--response", "y", says="head.csv")

    def test_ragged_row(self):
        self.write("ragged.csv", "a,b,y\n1,2,0\n3,1\n5,6,1\n")
        self.fit_fails(DATA, "ragged.csv", "--response", "y", says=["ragged.csv", "line 3"])

    def test_text_in_a_column_of_numbers(self):
        rows = "".join(f"{i},{i % 2}\n" for i in range(20))
        self.write("cell.csv", "a,y\n" + rows + "1x7,1\n" + rows)
        self.fit_fails(DATA, "cell.csv", "--response", "y", says=["cell.csv", "line 22", "'a'", "1x7"])

    def test_not_finite_cells(self):
        for cell in ("inf", "-Inf", "1e999"):
            self.write("inf.csv", f"a,y\n1,0\n{cell},1\n2,0\n3,1\n")
            self.fit_fails(DATA, "inf.csv", "--response", "y", says=["inf.csv", "line 3", "'a'"])

    def test_missing_cells_are_counted(self):
        self.write("gaps.csv", "a,y\n1,0\n,1\n2,0\nNA,1\n4,1\n5,0\n")
        self.fit_fails(DATA, "gaps.csv", "--response", "y", says=["gaps.csv", "2", "line 3", "--missing drop"])
        self.succeeds("fit", "gaps.csv", "--response", "y", "--missing", "drop", *SHORT, "--out", "fit")
        self.assertTrue(any("2 of 6 rows were left out" in note for note in self.record()["notes"]))

    def test_response_not_found(self):
        self.logistic_table()
        self.fit_fails(DATA, "data.csv", "--response", "colur", says=["data.csv", "'colur'", "'colour'", "--response"])

    def test_response_not_named(self):
        self.logistic_table()
        self.fit_fails(USAGE, "data.csv", says="--response")

    def test_single_class(self):
        self.write("one.csv", "a,y\n1,yes\n2,yes\n3,yes\n")
        self.fit_fails(DATA, "one.csv", "--response", "y", says=["one.csv", "single class", "yes"])

    def test_three_classes(self):
        self.write("three.csv", "a,y\n1,r\n2,g\n3,b\n")
        self.fit_fails(DATA, "three.csv", "--response", "y", says=["three.csv", "3 different values"])

    def test_column_named_twice(self):
        self.write("twice.csv", "a,b,a,y\n1,2,3,0\n4,5,6,1\n")
        self.fit_fails(DATA, "twice.csv", "--response", "y", says=["twice.csv", "'a'"])

    def test_binary_junk(self):
        self.write("junk.csv", bytes(range(256)) * 40)
        self.fit_fails(DATA, "junk.csv", "--response", "y", says="junk.csv")

    def test_truncated_gzip(self):
        packed = gzip.compress(b"a,y\n" + b"1,0\n2,1\n" * 5000)
        self.write("cut.csv.gz", packed[:len(packed) // 2])
        self.fit_fails(DATA, "cut.csv.gz", "--response", "y", says="cut.csv.gz")

    def test_a_line_of_200_megabytes(self):
        with open(self.folder / "long.csv", "wb") as file:
            file.write(b"a,y\n")
            for _ in range(200):
                file.write(b"1" * (1 << 20))
            file.write(b",1\n")
        self.fit_fails(DATA, "long.csv", "--response", "y", says=["long.csv", "line 2"])

    def test_negative_counts(self):
        self.write("count.csv", "a,y\n1,0\n2,-3\n3,2\n")
        self.fit_fails(DATA, "count.csv", "--response", "y", "--model", "poisson", says=["count.csv", "line 3", "-3"])

    def test_no_argument(self):
        self.fails(USAGE, "fit", says="FILE")

    def test_options_that_do_not_go_together(self):
        self.number_table()
        self.fit_fails(USAGE, "numbers.csv", "--response", "y", "--covariate", "x", "--model", "linear", says="--covariate")
        self.fit_fails(USAGE, "numbers.csv", "--response", "y", "--model", "pspline", says="--covariate")
        self.fit_fails(USAGE, "numbers.csv", "--response", "y", "--data", "d.json", says="--data")

    def test_a_rank_larger_than_the_model(self):
        self.logistic_table()
        self.fit_fails(USAGE, "data.csv", "--response", "y", "--rule", "adam", "--rank", 99, says="rank")

    def test_not_a_library(self):
        self.write("fake.so", "no library")
        self.fit_fails(DATA, "fake.so", says="fake.so")


class BadFolders(Case):
    def setUp(self):
        super().setUp()
        self.logistic_table()

    def test_foreign_folder(self):
        self.write("mine/thesis.tex", "years of work")
        self.fails(USAGE, "fit", "data.csv", "--response", "y", "--out", "mine", says=["mine", "--out"])
        self.assertEqual([f.name for f in (self.folder / "mine").iterdir()], ["thesis.tex"])

    def test_a_fit_json_of_another_program_is_foreign(self):
        self.write("mine/fit.json", '{"speed": 12}')
        self.fails(USAGE, "fit", "data.csv", "--response", "y", "--out", "mine", says="mine")
        self.assertEqual((self.folder / "mine/fit.json").read_text(), '{"speed": 12}')

    def test_an_earlier_fit_is_replaced(self):
        for seed in (1, 2):
            self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--seed", seed, "--out", "fit")
        self.assertEqual(self.record()["options"]["seed"], 2)

    def test_under_a_file(self):
        self.fails(IO, "fit", "data.csv", "--response", "y", "--out", "data.csv/fit", says="data.csv/fit")

    def test_a_file_of_that_name(self):
        self.write("fit", "a file")
        self.fails(IO, "fit", "data.csv", "--response", "y", "--out", "fit", says="fit")

    def test_where_nothing_can_be_made(self):
        self.fails(IO, "fit", "data.csv", "--response", "y", "--out", "/proc/magva-fit", says="/proc/magva-fit")

    def limited(self, kilobytes, *words):
        """The program where no file may grow beyond so many kilobytes: writing fails as on a full disk."""
        import resource
        import subprocess

        from harness import PROGRAM
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))
        return subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, preexec_fn=limit, timeout=120)

    def test_full_before_the_fit(self):
        done = self.limited(16, "fit", "data.csv", "--response", "y", *SHORT, "--out", "fit")
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual([f for f in self.folder.rglob("*.part")], [])

    def test_full_at_the_end(self):
        done = self.limited(80, "fit", "data.csv", "--response", "y", "--rule", "adadelta-stable", "--iterations", "5000",
                            "--out", "fit")
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn("trace.csv", done.stderr.splitlines()[-1])
        self.assertEqual([f for f in self.folder.rglob("*.part")], [])

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_full_standard_output(self):
        import subprocess

        from harness import PROGRAM
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "fit")
        for words in (["summary", "fit"], ["draws", "fit", "-n", "9"], ["predict", "fit", "data.csv"], ["--help"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *words], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, IO, words)
            self.assertIn("standard output", done.stderr)


class BadFits(Case):
    """Commands that read a fit."""

    def test_there_is_no_fit(self):
        self.write("mine/thesis.tex", "x")
        self.write("file", "x")
        for command in ("summary", "draws"):
            for folder in ("nowhere", "mine", "file"):
                self.fails(IO, command, folder, says=folder)
        self.fails(IO, "predict", "nowhere", "x.csv", says="nowhere")
        self.fails(IO, "compare", "nowhere", "mine", says="nowhere")
        self.fails(USAGE, "summary", says="FOLDER")
        self.fails(USAGE, "predict", "fit", says="FILE")

    def test_altered_files(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "fit")
        posterior = self.folder / "fit/posterior.magva"
        whole = posterior.read_bytes()
        posterior.write_bytes(whole[:-20])
        self.fails(DATA, "draws", "fit", says="posterior.magva")
        posterior.write_bytes(whole)
        model = self.folder / "fit/model.json"
        kept = model.read_text()
        model.write_text(kept[:40])
        self.fails(DATA, "predict", "fit", "data.csv", says="model.json")
        model.write_text('{"design": 3}')
        self.fails(DATA, "predict", "fit", "data.csv", says="model.json")
        record = self.folder / "fit/fit.json"
        record.write_text(record.read_text().replace('"parameters"', '"perimeters"'))
        self.fails(DATA, "summary", "fit", says="fit.json")


if __name__ == "__main__":
    unittest.main()
