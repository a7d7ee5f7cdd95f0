import hashlib
import json
import statistics
import unittest

from harness import SHORT, Case


class Fit(Case):
    def test_writes_the_documented_files(self):
        table = self.logistic_table()
        done = self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "fit")
        self.assertIn("written to fit", done.stdout)
        self.assertEqual({f.name for f in (self.folder / "fit").iterdir()},
                         {"fit.json", "trace.csv", "posterior.magva", "model.json", "check.json"})
        record = self.record()
        for key in ("elbo", "elbo_se", "stopped", "iterations", "gradient_evaluations", "seconds", "khat", "options", "data",
                    "version", "parameters", "warnings", "trusted", "notes", "rank", "factor_shares"):
            self.assertIn(key, record)
        self.assertEqual(record["stopped"], "iteration limit")
        self.assertEqual(record["iterations"], 200)
        self.assertEqual(record["gradient_evaluations"], 200)
        self.assertEqual(record["data"], {"file": "data.csv", "rows": 120, "columns": 5,
                                          "sha256": hashlib.sha256(table.read_bytes()).hexdigest()})
        self.assertEqual(record["options"]["rule"], "adadelta-stable")
        priors = {p["parameter"]: p for p in record["details"]["priors"]}
        column = [float(row["a"]) for row in self.rows("data.csv")]
        self.assertAlmostEqual(priors["a"]["scale"], 2.5 / statistics.stdev(column), places=10)
        self.assertEqual(record["rank"], 1)
        self.assertEqual(len(record["factor_shares"]), 1)
        names = [p["name"] for p in record["parameters"]]
        self.assertEqual(names[:4], ["(Intercept)", "a", "b", "c"])
        self.assertEqual(len(names), 6)
        for p in record["parameters"]:
            self.assertEqual(list(p), ["name", "mean", "sd", "sd_gaussian", "q05", "q50", "q95"])
            self.assertGreater(p["sd"], 0)
            self.assertLess(p["q05"], p["q50"])
            self.assertAlmostEqual(p["q95"] - p["mean"], 1.6448536269514722 * p["sd"], places=12)

    def test_trace_has_the_documented_columns(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--draws", 2, "--out", "fit")
        rows = self.rows("fit/trace.csv")
        self.assertEqual(list(rows[0]), ["iteration", "gradient_evaluations", "seconds", "elbo"])
        self.assertEqual([int(r["iteration"]) for r in rows], list(range(1, 201)))
        self.assertEqual(int(rows[-1]["gradient_evaluations"]), 400)
        self.assertLess(float(rows[0]["elbo"]), float(rows[-1]["elbo"]))

    def test_antithetic_draws_come_in_pairs(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--antithetic", "--out", "fit")
        self.assertEqual(self.record()["gradient_evaluations"], 400)
        self.fails(2, "fit", "data.csv", "--response", "y", *SHORT, "--antithetic", "--draws", 3, "--out", "other",
                   says=["draws", "even"])
        self.fails(2, "fit", "data.csv", "--response", "y", "--antithetic", "--out", "other", says=["--antithetic", "--rule"])

    def test_default_fit_finds_the_signs(self):
        self.logistic_table(n=300)
        self.succeeds("fit", "data.csv", "--response", "y", "--out", "fit")
        means = {p["name"]: p for p in self.record()["parameters"]}
        self.assertGreater(means["a"]["q05"], 0)
        self.assertLess(means["b"]["q95"], 0)
        self.assertLess(abs(means["c"]["mean"]), 4 * means["c"]["sd"])  # c has no effect

    def test_units_do_not_matter_and_results_are_on_the_datas_own_scale(self):
        rows = [(row["x"], row["z"], row["y"]) for row in (self.number_table(), self.rows("numbers.csv"))[1]]
        for name, unit in (("plain.csv", 1), ("large.csv", 1000)):
            self.write(name, "x,z,y\n" + "".join(f"{float(x) / unit!r},{z},{float(y) * unit!r}\n" for x, z, y in rows))
        fits = {}
        for folder, words in (("plain", ["plain.csv"]), ("large", ["large.csv"]), ("scaled", ["plain.csv", "--standardise"])):
            self.succeeds("fit", *words, "--response", "y", "--out", folder)
            fits[folder] = {p["name"]: p for p in self.record(folder)["parameters"]}
        for name, factor in (("(Intercept)", 1e3), ("x", 1e6), ("z", 1e3)):
            plain, large, scaled = (fits[folder][name] for folder in ("plain", "large", "scaled"))
            self.assertAlmostEqual(large["mean"] / factor, plain["mean"], delta=.02 * plain["sd"])
            self.assertAlmostEqual(large["sd"] / factor, plain["sd"], delta=.02 * plain["sd"])
            self.assertAlmostEqual(scaled["mean"], plain["mean"], delta=.02 * plain["sd"])
            self.assertAlmostEqual(scaled["sd"], plain["sd"], delta=.02 * plain["sd"])

    def test_summary_marks_what_is_nearly_its_prior(self):
        self.write("d.csv", "x,u,y\n" + "".join(f"{i},{int(i == 3)},{i % 2}\n" for i in range(12)))
        self.succeeds("fit", "d.csv", "--response", "y", "--prior-variance", .01, "--out", "fit")
        said = self.succeeds("summary", "fit").stdout
        self.assertRegex(said, r"(?m)^u .* \*normal\(0, 0\.1\)$")
        self.assertRegex(said, r"(?m)^x .*  normal\(0, 0\.1\)$")
        self.assertIn("nearly the prior", said)

    def test_default_fit_says_how_it_got_there(self):
        self.logistic_table(n=300)
        done = self.succeeds("fit", "data.csv", "--response", "y", "--starts", 2, "--out", "fit")
        record = self.record()
        self.assertEqual(record["stopped"], "converged")
        self.assertTrue(record["trusted"])
        self.assertLess(record["khat"], .7)
        self.assertEqual(record["details"]["expectations"], "exact")
        self.assertEqual(record["elbo_se"], 0)
        self.assertEqual(len(record["details"]["starts"]), 1)  # a log-concave posterior has one mode
        self.assertTrue(record["stop_detail"])
        self.assertIn("gradient", done.stderr)
        trace = self.rows("fit/trace.csv")
        iterations = [int(row["iteration"]) for row in trace]
        self.assertEqual(iterations, sorted(set(iterations)))
        elbos = [float(row["elbo"]) for row in trace if row["elbo"]]
        self.assertEqual(elbos, sorted(elbos))  # without noise, every iteration is an ascent

    def test_default_fit_with_draws_says_how_it_got_there(self):
        self.logistic_table(n=300)
        self.succeeds("fit", "data.csv", "--response", "y", "--prior", "horseshoe", "--starts", 2, "--out", "fit", codes=(0, 3))
        record = self.record()
        self.assertEqual(record["details"]["expectations"], "draws")
        self.assertGreater(record["elbo_se"], 0)
        self.assertEqual(len(record["details"]["starts"]), 2)

    def test_ranks_and_families_of_the_default(self):
        self.logistic_table()
        for words, family, rank in ((["--rank", 2], "low-rank", 2), (["--approximation", "mean-field"], "mean-field", 0),
                                    (["--approximation", "full-rank"], "full-rank", 6)):
            self.succeeds("fit", "data.csv", "--response", "y", *words, "--out", "fit")
            self.assertEqual((self.record()["family"], self.record()["rank"]), (family, rank))
        self.fails(2, "fit", "data.csv", "--response", "y", "--approximation", "vafc", "--draws", 4, "--out", "other",
                   says=["--approximation vafc", "--draws", "--rule"])
        self.assertFalse((self.folder / "other").exists())

    def test_limits_of_the_default_are_not_trusted(self):
        self.logistic_table()
        for words in (["--iterations", 3], ["--evaluations", 8]):
            done = self.succeeds("fit", "data.csv", "--response", "y", *words, "--out", "fit", codes=(3,))
            self.assertEqual(self.record()["stopped"], "iteration limit")
            self.assertIn("warning:", done.stderr)
            self.assertFalse(self.record()["trusted"])

    def test_separated_data_with_a_flat_prior_is_not_trusted(self):
        self.write("separated.csv", "x,y\n" + "".join(f"{i - 20.5},{int(i > 20)}\n" for i in range(41)))
        done = self.succeeds("fit", "separated.csv", "--response", "y", "--prior-variance", 1e12, "--out", "fit", codes=(3,))
        self.assertIn("warning:", done.stderr)
        self.assertEqual(done.stdout.count("written to"), 1)

    def test_says_which_model_was_chosen(self):
        self.logistic_table()
        self.number_table()
        for file, response, word in (("data.csv", "y", "logistic"), ("numbers.csv", "y", "linear"),
                                     ("numbers.csv", "count", "Poisson")):
            done = self.ends(file, "--response", response, *SHORT, "--out", f"fit-{word}")
            self.assertIn(f"{word} regression was chosen", done.stderr)
            self.assertTrue(any(word in note for note in self.record(f"fit-{word}")["notes"]))

    def test_linear_reports_the_noise_on_its_own_scale(self):
        self.number_table()
        self.succeeds("fit", "numbers.csv", "--response", "y", "--exclude", "count", "--out", "fit")
        by_name = {p["name"]: p for p in self.record()["parameters"]}
        self.assertEqual(list(by_name), ["(Intercept)", "x", "z", "sigma"])
        self.assertLess(abs(by_name["x"]["mean"] - 2), .3)
        self.assertLess(abs(by_name["sigma"]["mean"] - .5), .2)

    def test_horseshoe_reports_coefficients_in_both_forms(self):
        self.logistic_table()
        for form in ("noncentred", "centred"):
            self.ends("data.csv", "--response", "y", "--prior", "horseshoe", "--horseshoe", form, *SHORT, "--out", form)
            names = [p["name"] for p in self.record(form)["parameters"]]
            self.assertEqual(names[:4], ["(Intercept)", "a", "b", "c"])
            self.assertEqual(names[-1], "tau")
            self.assertIn("lambda[a]", names)

    def test_pspline(self):
        import math, random
        generator = random.Random(3)
        lines = ["x,y"]
        for i in range(150):
            x = i / 149
            lines.append(f"{x},{math.sin(4 * math.pi * x) + .1 * generator.gauss(0, 1)}")
        self.write("xy.csv", "\n".join(lines) + "\n")
        self.succeeds("fit", "xy.csv", "--response", "y", "--model", "pspline", "--covariate", "x", "--basis", 12, *SHORT,
                      "--out", "fit")
        names = [p["name"] for p in self.record()["parameters"]]
        self.assertEqual(names[0], "beta[1]")
        self.assertEqual(names[-3:], ["tau2", "psi", "sigma2"])
        self.assertEqual(len(names), 15)

    def test_reads_standard_input_and_libsvm(self):
        table = self.logistic_table().read_text()
        self.succeeds("fit", "-", "--response", "y", *SHORT, "--out", "fit", stdin=table)
        self.assertEqual(self.record()["data"]["file"], "-")
        self.write("small.libsvm", "".join(f"{i % 2} 1:{i % 5} 3:{i * i % 7}\n" for i in range(40)))
        self.succeeds("fit", "small.libsvm", *SHORT, "--out", "svm")
        self.assertEqual([p["name"] for p in self.record("svm")["parameters"]], ["(Intercept)", "x1", "x3"])

    def test_one_seed_one_posterior(self):
        self.logistic_table()
        for folder, seed, threads in (("one", 7, 1), ("two", 7, 2), ("other", 8, 1)):
            self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--seed", seed, "--threads", threads, "--out", folder)
        files = {f: (self.folder / f / "posterior.magva").read_bytes() for f in ("one", "two", "other")}
        self.assertEqual(files["one"], files["two"])
        self.assertNotEqual(files["one"], files["other"])

    def test_default_is_reproducible_too(self):
        self.logistic_table()
        for folder in ("one", "two"):
            self.succeeds("fit", "data.csv", "--response", "y", "--out", folder)
        self.assertEqual((self.folder / "one/posterior.magva").read_bytes(), (self.folder / "two/posterior.magva").read_bytes())

    def test_minibatches_are_judged_on_all_rows(self):
        self.logistic_table(n=400)
        self.succeeds("fit", "data.csv", "--response", "y", "--rule", "adadelta-stable", "--batch", 50, "--draws", 4, "--out", "fit")
        self.succeeds("fit", "data.csv", "--response", "y", "--rule", "adadelta-stable", "--draws", 4, "--out", "full")
        sampled, full = self.record("fit"), self.record("full")
        self.assertLess(abs(sampled["elbo"] - full["elbo"]), 15)
        for p, q in zip(sampled["parameters"], full["parameters"]):
            self.assertLess(abs(p["mean"] - q["mean"]), 3 * q["sd"])

    def test_names_what_was_dropped(self):
        lines = self.logistic_table().read_text().splitlines()
        lines = [lines[0] + ",same,flat"] + [line + "," + line.split(",")[0] + ",1" for line in lines[1:]]
        self.write("more.csv", "\n".join(lines) + "\n")
        self.succeeds("fit", "more.csv", "--response", "y", *SHORT, "--out", "fit")
        notes = " ".join(self.record()["notes"])
        self.assertIn("same", notes)
        self.assertIn("flat", notes)
        self.assertNotIn("flat", [p["name"] for p in self.record()["parameters"]])

    def test_start_file(self):
        self.logistic_table()
        self.write("init.json", json.dumps({"a": 1.5, "b": -1}))
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--init", "init.json", "--out", "fit")
        self.write("init.json", json.dumps({"aa": 1}))
        self.fails(65, "fit", "data.csv", "--response", "y", "--init", "init.json", "--out", "fit2", says=["init.json", "'aa'"])

    def test_out_has_a_default(self):
        self.logistic_table("ion.csv")
        self.succeeds("fit", "ion.csv", "--response", "y", *SHORT)
        self.assertTrue((self.folder / "ion.fit/fit.json").exists())

    def test_time_limit_saves_and_can_be_resumed(self):
        self.logistic_table()
        done = self.succeeds("fit", "data.csv", "--response", "y", "--rule", "adadelta-stable", "--iterations", 10**8,
                             "--time-limit", .3, "--out", "fit", codes=(3,))
        self.assertIn("--resume", done.stderr)
        self.assertEqual(self.record()["stopped"], "time limit")
        self.succeeds("summary", "fit")


if __name__ == "__main__":
    unittest.main()
