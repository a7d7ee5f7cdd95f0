"""Design files: converting, fitting and predicting from them, and files that cannot be used."""
import gzip
import json
import unittest

from harness import DATA, IO, SHORT, USAGE, Case


class DesignFiles(Case):
    def posterior(self, folder):
        return (self.folder / folder / "posterior.magva").read_bytes()

    def text_table(self, n=150):
        """Numbers, text, weights, a constant, a copy of a column, and missing cells."""
        table = self.logistic_table(n=n)
        lines = table.read_text().splitlines()
        out = [lines[0] + ",w,one,again"]
        for i, line in enumerate(lines[1:]):
            a = line.split(",")[0]
            out.append(f"{line},{1 + i % 3},7,{a}")
        out[5] = out[5].replace("red", "").replace("green", "").replace("blue", "")
        return self.write("table.csv", "\n".join(out) + "\n")

    def same_fit(self, table, *options, response="y", engine=SHORT):
        """A fit from the design file has the bits of one from the table."""
        self.succeeds("convert", table, "--response", response, *options, "--out", "d.magva")
        self.ends("d.magva", *engine, "--out", "from_file")
        self.ends(table, "--response", response, *options, *engine, "--out", "from_table")
        self.assertEqual(self.posterior("from_file"), self.posterior("from_table"))
        a, b = self.record("from_file"), self.record("from_table")
        for key in ("elbo", "elbo_se", "parameters", "model", "notes"):
            self.assertEqual(a[key], b[key], key)
        checks = [json.loads((self.folder / f / "check.json").read_text()) for f in ("from_file", "from_table")]
        self.assertEqual(*checks)
        models = [json.loads((self.folder / f / "model.json").read_text()) for f in ("from_file", "from_table")]
        self.assertEqual(*models)
        return a

    def test_fits_are_those_of_the_table_to_the_bit(self):
        self.text_table()
        cases = {"plain": ["--missing", "drop"],
                 "standardised and weighted": ["--missing", "drop", "--standardise", "--weights", "w"],
                 "chosen": ["--missing", "drop", "--exclude", "c", "--positive", "no", "--text", "one"],
                 "counts": ["--missing", "drop", "--model", "poisson"]}
        for name, options in cases.items():
            with self.subTest(name):
                record = self.same_fit("table.csv", *options, response="w" if name == "counts" else "y")
                self.assertTrue(any("again" in note for note in record["notes"]), record["notes"])
                self.assertEqual(record["data"]["rows"], 149)

    def test_discretised_gzipped_and_standard_input(self):
        table = self.logistic_table(n=200)
        self.same_fit(table.name, "--discretise", "mdlp")
        with gzip.open(self.folder / "z.csv.gz", "wb") as out:
            out.write(table.read_bytes())
        self.same_fit("z.csv.gz")
        plain = (self.folder / "d.magva").stat().st_size
        self.succeeds("convert", "-", "--response", "y", "--out", "stdin.magva", stdin=table.read_text())
        self.assertAlmostEqual((self.folder / "stdin.magva").stat().st_size, plain, delta=4096)

    def test_tables_of_many_parts(self):
        # More rows than a part has (65,536), with a level that only the last part knows.
        lines = ["x,k,y"] + [f"{(i * 37) % 101},{'ab'[i % 2]},{(i * 53) % 7}" for i in range(70000)] + ["3,c,1", "4,c,2"]
        self.write("long.csv", "\n".join(lines) + "\n")
        record = self.same_fit("long.csv", "--standardise", "--model", "linear", engine=("--rule", "adam", "--iterations", "20"))
        self.assertIn("k[c]", [p["name"] for p in record["parameters"]])
        self.assertEqual(record["data"]["rows"], 70002)

    def test_single_precision_is_close_and_half_the_size(self):
        table = self.logistic_table(n=2000)
        sizes = {}
        for name, more in {"double": [], "single": ["--float32"]}.items():
            self.succeeds("convert", table.name, "--response", "y", *more, "--out", f"{name}.magva")
            self.succeeds("fit", f"{name}.magva", "--out", name)
            sizes[name] = (self.folder / f"{name}.magva").stat().st_size
        self.assertLess(sizes["single"], .7 * sizes["double"])
        self.succeeds("fit", table.name, "--response", "y", "--float32", "--out", "table")
        self.assertEqual(self.posterior("single"), self.posterior("table"))
        # Cells have four decimals: rounding to 24 bits moves them by 1e-7 of their size, estimates by far less than
        # their sds; the fits stop within .1 nats of the optimum, by the same draws.
        for a, b in zip(self.record("single")["parameters"], self.record("double")["parameters"]):
            self.assertLess(abs(a["mean"] - b["mean"]), 1e-3 * b["sd"])
            self.assertAlmostEqual(a["sd"] / b["sd"], 1, delta=1e-3)

    def test_saving_the_design_of_a_fit(self):
        table = self.logistic_table()
        self.succeeds("fit", table.name, "--response", "y", *SHORT, "--save-design", "saved.magva", "--out", "first")
        self.succeeds("fit", "saved.magva", *SHORT, "--out", "second")
        self.assertEqual(self.posterior("first"), self.posterior("second"))

    def test_prediction_from_both(self):
        self.logistic_table()
        self.logistic_table("new.csv", n=40, seed=5)
        self.succeeds("convert", "data.csv", "--response", "y", "--standardise", "--out", "d.magva")
        self.succeeds("fit", "d.magva", *SHORT, "--out", "fit")
        self.succeeds("convert", "new.csv", "--like", "fit", "--out", "new.magva")
        self.succeeds("predict", "fit", "new.csv", "--out", "a.csv", "--scores", "a.json")
        self.succeeds("predict", "fit", "new.magva", "--out", "b.csv", "--scores", "b.json")
        for kind in ("csv", "json"):
            self.assertEqual((self.folder / f"a.{kind}").read_text(), (self.folder / f"b.{kind}").read_text())
        self.succeeds("convert", "new.csv", "--response", "y", "--standardise", "--out", "other.magva")
        self.fails(DATA, "predict", "fit", "other.magva", says=("other.magva", "--like"))
        self.succeeds("report", "fit", "--out", "report.html")
        self.succeeds("draws", "fit", "-n", "5", "--log-density")

    def test_bad_files(self):
        self.logistic_table()
        self.succeeds("convert", "data.csv", "--response", "y", "--out", "d.magva")
        good = (self.folder / "d.magva").read_bytes()
        changed = {
            "truncated": (good[:-5], "cut short"),
            "longer": (good + b"1", "added to"),
            "header cut": (good[:200], "ends within its header"),
            "header damaged": (good[:150] + b"#" + good[151:], "digest"),
            "rows damaged": (good[:-9] + bytes([good[-9] ^ 64]) + good[-8:], "rows do not have their digest"),
            "version": (good[:8] + b"\x63" + good[9:], "version 99"),
            "byte order": (good[:12] + b"\x01\x02\x03\x04" + good[16:], "byte order"),
            "foreign": (b"\x7fELF\x02" + good[5:], "bad.magva"),
        }
        for name, (content, says) in changed.items():
            with self.subTest(name):
                self.write("bad.magva", content)
                self.fails(DATA, "fit", "bad.magva", "--out", "fit", says=("bad.magva", says))
                self.assertFalse((self.folder / "fit").exists())

    def test_options_that_do_not_fit(self):
        self.logistic_table()
        self.succeeds("convert", "data.csv", "--response", "y", "--out", "d.magva")
        self.fails(USAGE, "fit", "d.magva", "--standardise", says=("--standardise", "design file"))
        self.fails(USAGE, "fit", "d.magva", "--model", "linear", says=("logistic", "convert"))
        self.fails(USAGE, "fit", "d.magva", "--response", "a", says="'y'")
        self.succeeds("fit", "d.magva", "--response", "y", "--model", "logistic", *SHORT)
        self.fails(USAGE, "convert", "data.csv", "--out", "e.magva", says="--response")
        self.fails(USAGE, "convert", "data.csv", "--response", "y", says="--out")
        self.fails(DATA, "convert", "data.csv", "--response", "z", "--out", "e.magva", says="'z'")
        self.fails(IO, "convert", "data.csv", "--response", "y", "--out", "no/e.magva", says="no/e.magva")
        self.write("s.svm", "1 1:2 3:1\n0 2:1\n1 3:4\n")
        self.fails(DATA, "convert", "s.svm", "--response", "label", "--out", "e.magva", says="LIBSVM")
        self.write("big.csv", "x,y\n1e300,1\n2,2\n3,4\n")
        self.fails(DATA, "convert", "big.csv", "--response", "y", "--float32", "--out", "e.magva", says=("'x'", "float32"))
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.startswith("e.magva")], [])


if __name__ == "__main__":
    unittest.main()
