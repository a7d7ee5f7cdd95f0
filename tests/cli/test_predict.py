import json
import math
import unittest

from harness import DATA, SHORT, USAGE, Case


class Predict(Case):
    def fitted(self, *more):
        self.logistic_table(n=300)
        self.succeeds("fit", "data.csv", "--response", "y", "--out", "fit", "--rule", "adadelta-stable", *more)

    def test_classes(self):
        self.fitted()
        self.logistic_table("new.csv", n=200, seed=9)
        done = self.succeeds("predict", "fit", "new.csv", "--out", "p.csv", "--scores", "s.json")
        rows = self.rows("p.csv")
        self.assertEqual(list(rows[0]), ["row", "class", "probability", "q05", "q95", "observed", "log_score"])
        self.assertEqual(len(rows), 200)
        for row in rows:
            p = float(row["probability"])
            self.assertLessEqual(float(row["q05"]), p + 1e-9)
            self.assertLessEqual(p, float(row["q95"]) + 1e-9)
            self.assertEqual(row["class"], "yes" if p >= .5 else "no")
            expected = math.log(p if row["observed"] == "yes" else 1 - p)
            self.assertAlmostEqual(float(row["log_score"]), expected, places=9)
        scores = json.loads((self.folder / "s.json").read_text())
        wrong = sum(row["class"] != row["observed"] for row in rows) / 200
        self.assertAlmostEqual(scores["error_rate"], wrong, places=12)
        self.assertAlmostEqual(scores["log_score"], sum(float(r["log_score"]) for r in rows) / 200, places=9)
        self.assertEqual(sum(b["rows"] for b in scores["calibration"]), 200)
        self.assertLess(wrong, .35)
        self.assertIn("error rate", done.stdout)
        self.assertIn("calibration", done.stdout)

    def test_without_a_response(self):
        self.fitted()
        self.logistic_table("new.csv", n=10, seed=9, response=False)
        done = self.succeeds("predict", "fit", "new.csv")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "row,class,probability,q05,q95")
        self.assertEqual(len(lines), 11)
        self.assertEqual(done.stderr, "")
        self.fails(DATA, "predict", "fit", "new.csv", "--scores", "s.json", says="response")

    def test_scores_go_to_standard_error_beside_rows_on_standard_output(self):
        self.fitted()
        done = self.succeeds("predict", "fit", "data.csv")
        self.assertEqual(len(done.stdout.splitlines()), 301)
        self.assertIn("error rate", done.stderr)

    def test_numbers(self):
        self.number_table(n=200)
        for response, model in (("y", "linear"), ("count", "poisson")):
            other = "count" if response == "y" else "y"
            self.succeeds("fit", "numbers.csv", "--response", response, "--model", model, "--exclude", other, "--out", model)
            self.succeeds("predict", model, "numbers.csv", "--out", "p.csv", "--scores", "s.json")
            self.assertEqual(list(self.rows("p.csv")[0]), ["row", "mean", "q05", "q95", "observed", "log_score"])
            scores = json.loads((self.folder / "s.json").read_text())
            # 200 rows: three standard errors of a share of .9 are .064; counts are discrete, so theirs may be more.
            self.assertGreater(scores["coverage90"], .83)
            self.assertIsNone(scores["error_rate"])

    def test_horseshoe_and_bins_and_standardised(self):
        self.logistic_table(n=200)
        for name, words in (("h", ["--prior", "horseshoe"]), ("m", ["--discretise", "mdlp"]), ("s", ["--standardise"])):
            self.succeeds("fit", "data.csv", "--response", "y", *words, "--rule", "adadelta-stable", "--out", name)
            self.succeeds("predict", name, "data.csv", "--out", "p.csv", "--scores", "s.json")
            self.assertLess(json.loads((self.folder / "s.json").read_text())["error_rate"], .4)

    def test_pspline_predicts_within_its_knots(self):
        self.write("xy.csv", "x,y\n" + "".join(f"{i / 99},{math.sin(6 * i / 99)}\n" for i in range(100)))
        self.succeeds("fit", "xy.csv", "--response", "y", "--model", "pspline", "--covariate", "x", "--basis", 8, *SHORT,
                      "--out", "fit")
        self.write("new.csv", "x\n0.2\n0.5\n")
        self.assertEqual(len(self.succeeds("predict", "fit", "new.csv").stdout.splitlines()), 3)
        self.write("far.csv", "x\n7\n")
        self.fails(DATA, "predict", "fit", "far.csv", says="7")

    def test_other_columns(self):
        self.fitted()
        self.write("other.csv", "a,bb,c,colour\n1,2,3,red\n")
        self.fails(DATA, "predict", "fit", "other.csv", says=["other.csv", "'b'"])
        self.write("level.csv", "a,b,c,colour\n1,2,3,purple\n")
        self.fails(DATA, "predict", "fit", "level.csv", says=["level.csv", "purple"])

    def test_same_seed_same_rows(self):
        self.fitted()
        one = self.succeeds("predict", "fit", "data.csv", "--seed", 3).stdout
        self.assertEqual(one, self.succeeds("predict", "fit", "data.csv", "--seed", 3).stdout)
        self.assertNotEqual(one, self.succeeds("predict", "fit", "data.csv", "--seed", 4).stdout)


if __name__ == "__main__":
    unittest.main()
