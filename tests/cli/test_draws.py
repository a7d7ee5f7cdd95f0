import json
import math
import unittest

from harness import DATA, SHORT, USAGE, Case


class Draws(Case):
    def setUp(self):
        super().setUp()
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", "--rule", "adadelta-stable", "--rank", 2, "--out", "fit")

    def test_names_and_moments(self):
        self.succeeds("draws", "fit", "-n", 2000, "--out", "d.csv")
        rows = self.rows("d.csv")
        self.assertEqual(len(rows), 2000)
        parameters = self.record()["parameters"]
        self.assertEqual(list(rows[0]), [p["name"] for p in parameters])
        for p in parameters:
            values = [float(row[p["name"]]) for row in rows]
            mean = sum(values) / len(values)
            self.assertLess(abs(mean - p["mean"]), 5 * p["sd"] / math.sqrt(2000))  # five standard errors

    def test_a_seed_gives_the_same_draws_however_many(self):
        few = self.succeeds("draws", "fit", "-n", 5, "--seed", 11).stdout.splitlines()
        many = self.succeeds("draws", "fit", "-n", 50, "--seed", 11).stdout.splitlines()
        self.assertEqual(few, many[:6])

    def test_log_densities(self):
        self.succeeds("draws", "fit", "-n", 1000, "--log-density", "--out", "d.csv")
        rows = self.rows("d.csv")
        self.assertEqual(list(rows[0])[:2], ["log_q", "log_p"])
        ratio = [float(r["log_p"]) - float(r["log_q"]) for r in rows]
        elbo = sum(ratio) / len(ratio)
        error = math.sqrt(sum((x - elbo) ** 2 for x in ratio) / len(ratio) / len(ratio))
        record = self.record()
        self.assertLess(abs(elbo - record["elbo"]), 5 * math.hypot(error, record["elbo_se"]))

    def test_resampled_draws_are_distinct_and_nearer_to_the_posterior(self):
        self.succeeds("draws", "fit", "-n", 100, "--correct", "--log-density", "--out", "r.csv")
        self.succeeds("draws", "fit", "-n", 100, "--resample", "--log-density", "--out", "older-name.csv")
        self.assertEqual(self.rows("r.csv"), self.rows("older-name.csv"))
        self.succeeds("draws", "fit", "-n", 2000, "--log-density", "--out", "d.csv")
        resampled, plain = self.rows("r.csv"), self.rows("d.csv")
        self.assertEqual(len({tuple(row.values()) for row in resampled}), 100)
        self.assertEqual(list(resampled[0]), list(plain[0]))
        weight = [[float(row["log_p"]) - float(row["log_q"]) for row in rows] for rows in (resampled, plain)]
        # E log(h/q) under h exceeds that under q, by the sum of the two KL divergences.
        mean = [sum(w) / len(w) for w in weight]
        self.assertGreater(mean[0], mean[1])

    def test_resampling_refuses_to_give_copies(self):
        # A fit that has hardly begun: a few draws have all the weight.
        self.succeeds("fit", "data.csv", "--response", "y", "--rule", "basic", "--iterations", 1, "--rank", 1, "--out", "poor")
        for option in ("--correct", "--resample"):
            self.fails(DATA, "draws", "poor", option, says="the draws cannot be corrected: k-hat")

    def test_corrected_summaries_and_predictions(self):
        plain, corrected = self.succeeds("summary", "fit").stdout, self.succeeds("summary", "fit", "--correct").stdout
        self.assertIn("corrected by importance weights", corrected)
        names = [p["name"] for p in self.record()["parameters"]]
        lines = [[line.split() for line in text.splitlines()] for text in (plain, corrected)]
        means = [{words[0]: float(words[1]) for words in some if len(words) >= 6 and words[0] in names} for some in lines]
        sd = {p["name"]: p["sd"] for p in self.record()["parameters"]}
        self.assertTrue(means[0])
        for name, mean in means[0].items():
            self.assertLess(abs(means[1][name] - mean), 0.5 * sd[name])
        self.succeeds("predict", "fit", "data.csv", "--out", "p.csv")
        self.succeeds("predict", "fit", "data.csv", "--correct", "--out", "c.csv")
        differences = [abs(float(p["probability"]) - float(c["probability"])) for p, c in zip(self.rows("p.csv"), self.rows("c.csv"))]
        self.assertGreater(max(differences), 0)
        self.assertLess(max(differences), 0.2)

    def test_log_densities_need_the_data_of_the_fit(self):
        with open(self.folder / "data.csv", "a") as file:
            file.write("1,1,1,red,yes\n")
        self.fails(DATA, "draws", "fit", "--log-density", says="data.csv")
        self.succeeds("draws", "fit", "-n", 3)

    def test_moved_data(self):
        (self.folder / "data.csv").rename(self.folder / "moved.csv")
        self.fails(74, "draws", "fit", "--log-density", says="data.csv")
        self.succeeds("draws", "fit", "-n", 3, "--log-density", "--data-file", "moved.csv")

    def test_formats_for_other_programs(self):
        self.fails(USAGE, "draws", "fit", "--format", "netcdf", says="--out")
        self.succeeds("draws", "fit", "-n", 4, "--format", "netcdf", "--out", "d.nc")
        self.assertEqual((self.folder / "d.nc").read_bytes()[1:4], b"HDF")
        self.succeeds("draws", "fit", "-n", 4, "--format", "cmdstan-csv", "--out", "d.csv")
        lines = [line for line in (self.folder / "d.csv").read_text().splitlines() if not line.startswith("#")]
        self.assertTrue(lines[0].startswith("lp__,"))
        self.assertEqual(len(lines), 5)

    def test_horseshoe_draws_are_coefficients(self):
        self.ends("data.csv", "--response", "y", "--prior", "horseshoe", *SHORT, "--out", "h")
        self.succeeds("draws", "h", "-n", 10, "--out", "h.csv")
        self.assertEqual(list(self.rows("h.csv")[0]), [p["name"] for p in self.record("h")["parameters"]])
        self.assertTrue(all(float(r["tau"]) > 0 for r in self.rows("h.csv")))


class Compare(Case):
    def test_a_fit_with_itself_and_with_another(self):
        self.logistic_table()
        for folder, rank in (("one", 1), ("two", 2), ("full", 0)):
            family = ["--approximation", "full-rank"] if folder == "full" else ["--rank", rank]
            self.succeeds("fit", "data.csv", "--response", "y", "--rule", "adadelta-stable", *family, "--out", folder)
        same = self.succeeds("compare", "one", "one").stdout
        self.assertIn("ELBO difference      0.000", same)
        self.assertRegex(same, r"KL\(first \|\| second\)  -?\d(\.\d+)?e-1\d|KL\(first \|\| second\)  0")
        other = self.succeeds("compare", "one", "two", "--top", 2).stdout
        for part in ("ELBO difference", "standard error", "KL(second || first)", "largest differences of the mean",
                     "largest differences of the sd", "angles between the factor subspaces"):
            self.assertIn(part, other)
        self.assertIn("no factors", self.succeeds("compare", "one", "full").stdout)

    def test_models_with_other_predictors_are_ranked(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "one")
        self.succeeds("fit", "data.csv", "--response", "y", "--exclude", "a", *SHORT, "--out", "two")
        said = self.succeeds("compare", "one", "two").stdout
        self.assertIn("elpd_loo", said)
        checks = {name: json.loads((self.folder / name / "check.json").read_text()) for name in ("one", "two")}
        better = max(checks, key=lambda name: checks[name]["loo"]["elpd"])
        self.assertTrue(said.splitlines()[1].startswith(better), said)
        self.assertEqual(len(checks["one"]["rows"]["elpd"]), 120)
        self.assertAlmostEqual(sum(checks["one"]["rows"]["elpd"]), checks["one"]["loo"]["elpd"], places=6)

    def test_more_than_two(self):
        self.logistic_table()
        for name, left_out in (("one", []), ("two", ["--exclude", "a"]), ("three", ["--exclude", "b"])):
            self.succeeds("fit", "data.csv", "--response", "y", *left_out, *SHORT, "--out", name)
        said = self.succeeds("compare", "one", "two", "three").stdout.splitlines()
        self.assertEqual({line.split()[0] for line in said[1:4]}, {"one", "two", "three"})
        elpd = [float(line.split()[1]) for line in said[1:4]]
        self.assertEqual(elpd, sorted(elpd, reverse=True))
        (self.folder / "two/check.json").unlink()
        self.fails(DATA, "compare", "one", "two", "three", says=["two", "leave-one-out"])

    def test_models_of_other_rows_are_refused(self):
        self.logistic_table()
        self.logistic_table("other.csv", seed=5)
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "one")
        self.succeeds("fit", "other.csv", "--response", "y", *SHORT, "--out", "two")
        self.fails(DATA, "compare", "one", "two", says="different responses")

    def test_other_parameters_without_a_check_are_refused(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "one")
        self.succeeds("fit", "data.csv", "--response", "y", "--exclude", "a", *SHORT, "--out", "two")
        (self.folder / "one/check.json").unlink()
        self.fails(DATA, "compare", "one", "two", says=["6", "5"])


class Summary(Case):
    def test_says_what_there_is(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "fit")
        text = self.succeeds("summary", "fit", "--top", 2).stdout
        for part in ("logistic regression", "data.csv", "120 rows", "iteration limit", "ELBO", "rank 1",
                     "share of the variance", "parameter", "and 4 more", "note:"):
            self.assertIn(part, text)
        self.assertNotIn("\033", text)


if __name__ == "__main__":
    unittest.main()
