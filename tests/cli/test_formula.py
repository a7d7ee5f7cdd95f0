"""Formulas, families, groups and priors through the program."""
import math
import random
import unittest

from harness import DATA, USAGE, Case


class Formula(Case):
    def table(self, n=200, seed=5):
        """Numbers x and z, a factor g, a group of 12, and responses of all kinds."""
        generator = random.Random(seed)
        effects = [generator.gauss(0, .8) for _ in range(12)]
        lines = ["x,z,g,group,days,y,count,class,wins,games,time,status,grade"]
        for i in range(n):
            x, z = generator.gauss(50, 10), generator.gauss(0, 1)
            g, group = "abc"[i % 3], i % 12
            eta = .05 * (x - 50) - .5 * z + {"a": 0, "b": .4, "c": -.4}[g] + effects[group]
            days = generator.choice([1, 5, 20])
            count = self.poisson(generator, days * math.exp(.3 * eta))
            y = 100 + 20 * eta + generator.gauss(0, 10)
            label = "yes" if generator.random() < 1 / (1 + math.exp(-eta)) else "no"
            wins = sum(generator.random() < 1 / (1 + math.exp(-eta)) for _ in range(8))
            time, censored = math.exp(eta) * generator.expovariate(1), 3
            grade = sum(eta + math.log(1 / generator.random() - 1) > cut for cut in (-1, 1))
            lines.append(f"{x:.3f},{z:.3f},{g},s{group},{days},{y:.3f},{count},{label},{wins},8,{min(time, censored):.4f},"
                         f"{int(time < censored)},{['low', 'mid', 'top'][grade]}")
        return self.write("d.csv", "\n".join(lines) + "\n")

    @staticmethod
    def poisson(generator, mean):
        count, product = 0, generator.random()
        while product > math.exp(-mean):
            count, product = count + 1, product * generator.random()
        return count

    def fit(self, formula, *words, codes=(0,), out="fit"):
        self.succeeds("fit", "d.csv", "--formula", formula, *words, "--out", out, codes=codes)
        return {p["name"]: p for p in self.record(out)["parameters"]}

    def test_interactions_factors_and_results_on_their_own_scale(self):
        self.table()
        fitted = self.fit("y ~ x*z + C(g, base=b) + I(z^2)")
        self.assertEqual(list(fitted), ["(Intercept)", "x", "z", "g[a]", "g[c]", "I(z^2)", "x:z", "sigma"])
        self.assertLess(abs(fitted["x"]["mean"] - 1), 4 * fitted["x"]["sd"])
        scaled = self.fit("y ~ x*z + C(g, base=b) + I(z^2)", "--standardise", out="scaled")
        for name, p in fitted.items():
            self.assertAlmostEqual(scaled[name]["mean"], p["mean"], delta=.05 * p["sd"])
            self.assertAlmostEqual(scaled[name]["sd"], p["sd"], delta=.05 * p["sd"])

    def test_every_family_finds_the_slope(self):
        self.table()
        for formula, family, slope, words in (
                ("y ~ x + z + g", "gaussian", 1, []), ("y ~ x + z + g", "student_t", 1, []),
                ("class ~ x + z + g", "bernoulli", .05, []), ("class ~ x + z + g", "bernoulli", .03, ["--link", "probit"]),
                ("cbind(wins, games - wins) ~ x + z + g", "binomial", .05, []),
                ("wins | trials(games) ~ x + z + g", "binomial", .05, []),
                ("count ~ x + z + g + offset(log(days))", "poisson", .015, []),
                ("count ~ x + z + g + offset(log(days))", "negbinomial", .015, []),
                ("y ~ x + z + g", "gamma", .01, []),
                ("Surv(time, status) ~ x + z + g", "weibull", .05, []),
                ("Surv(time, status) ~ x + z + g", "exponential", .05, []),
                ("grade ~ x + z + g", "ordered", .05, [])):
            with self.subTest(formula=formula, family=family):
                fitted = self.fit(formula, "--family", family, *words, codes=(0, 3))
                self.assertGreater(fitted["x"]["mean"] / fitted["x"]["sd"], 2)
                self.assertLess(abs(fitted["x"]["mean"] - slope), 5 * fitted["x"]["sd"])
                self.succeeds("summary", "fit")
                self.succeeds("predict", "fit", "d.csv", "--out", "p.csv")
                self.assertEqual(len(self.rows("p.csv")), 200)
        fitted = self.fit("grade ~ x + z", "--family", "categorical", codes=(0, 3))
        self.assertIn("top: x", fitted)

    def test_groups(self):
        self.table()
        fitted = self.fit("y ~ x + z + (1 + z | group)", codes=(0, 3))
        for name in ("sd(group: Intercept)", "sd(group: z)", "cor(group: Intercept, z)", "sigma", "group[s3]: Intercept"):
            self.assertIn(name, fitted)
        self.assertGreater(fitted["sd(group: Intercept)"]["mean"], 5)
        self.write("new.csv", "x,z,group\n50,0,s3\n50,0,s99\n")
        self.succeeds("predict", "fit", "new.csv", "--scale", "link", "--out", "p.csv")
        known, new = ([float(row["q95"]) - float(row["q05"])] for row in self.rows("p.csv"))
        self.assertGreater(new[0], 2 * known[0])
        self.succeeds("draws", "fit", "-n", 100, "--out", "draws.csv")
        self.assertEqual(len(self.rows("draws.csv")), 100)
        self.assertIn("group[s3]: Intercept", self.rows("draws.csv")[0])
        said = self.succeeds("summary", "fit", "--level", .5).stdout
        self.assertIn("25 %", said)
        self.assertIn("student_t(3, 0,", said)

    def test_classes_and_horseshoes_with_groups(self):
        self.table()
        self.write("new.csv", "x,z,g,group\n50,0,a,s3\n50,0,b,s99\n")
        for formula, words, names in (
                ("grade ~ x + z + (1 | group)", ["--family", "ordered"], ("x", "cut[1]", "sd(group: Intercept)", "group[s3]: Intercept")),
                ("grade ~ x + (1 | group)", ["--family", "categorical"],
                 ("top: x", "sd(group: top: Intercept)", "group[s3]: top: Intercept")),
                ("grade ~ x + (1 | group) + (1 | g)", ["--family", "categorical"],
                 ("top: x", "sd(group: top: Intercept)", "sd(g: top: Intercept)", "g[a]: top: Intercept")),
                ("y ~ x + z + g + (1 | group)", ["--prior", "coefficients ~ regularised_horseshoe(0.5, 2)"],
                 ("x", "tau", "c", "lambda[x]", "sd(group: Intercept)"))):
            with self.subTest(formula=formula):
                fitted = self.fit(formula, *words, codes=(0, 3))
                for name in names:
                    self.assertIn(name, fitted)
                self.assertTrue((self.folder / "fit" / "check.json").exists())
                self.succeeds("predict", "fit", "new.csv", "--out", "p.csv")
                self.assertEqual(len(self.rows("p.csv")), 2)
                self.assertIn("sd(group: ", self.succeeds("summary", "fit").stdout)
        self.fails(USAGE, "fit", "d.csv", "--formula", "grade ~ x + (1 | group)", "--family", "categorical", "--prior",
                   "coefficients ~ horseshoe(1)", says="no horseshoe priors")

    def test_smooth_terms_follow_a_curve(self):
        generator = random.Random(3)
        xs = [i / 100 for i in range(200)]
        self.write("d.csv", "x,y\n" + "".join(f"{x},{math.sin(4 * x) + generator.gauss(0, .2):.4f}\n" for x in xs))
        fitted = self.fit("y ~ s(x)")
        self.assertIn("sd(s(x))", fitted)
        self.assertEqual(self.record("fit")["warnings"], [])
        self.fit("y ~ s(x)", "--approximation", "full-rank", codes=(0, 3), out="joint")
        self.assertGreater(len(self.record("joint")["parameters"]), 12)
        self.fails(USAGE, "summary", "fit", "--correct", says="smooth terms")
        self.succeeds("predict", "fit", "d.csv", "--out", "p.csv")
        error = [float(row["mean"]) - math.sin(4 * x) for row, x in zip(self.rows("p.csv"), xs)]
        self.assertLess(math.sqrt(sum(e * e for e in error) / len(error)), .1)

    def test_smooth_terms_without_a_curve_are_trusted(self):
        """The sd of a term that bends nothing may be zero, where a Gaussian of all parameters ends in a funnel."""
        self.table()
        for formula, family in (("y ~ s(x) + s(z)", "gaussian"), ("class ~ s(x) + z", "bernoulli"),
                                ("count ~ s(z) + offset(log(days))", "poisson"), ("Surv(time, status) ~ s(x) + z", "weibull"),
                                ("grade ~ s(z) + x", "ordered")):
            with self.subTest(formula):
                fitted = self.fit(formula, "--family", family)
                self.assertEqual(self.record("fit")["warnings"], [])
                self.assertTrue(any(name.startswith("sd(s(") for name in fitted))
                self.succeeds("predict", "fit", "d.csv", "--out", "p.csv")
                self.assertEqual(len(self.rows("p.csv")), 200)
                self.succeeds("summary", "fit")

    def test_smooth_terms_beside_groups(self):
        generator = random.Random(4)
        shift = [generator.gauss(0, 1) for _ in range(8)]
        rows = [(i / 100, i % 8) for i in range(200)]
        self.write("d.csv", "x,g,y\n" + "".join(
            f"{x},g{g},{math.sin(4 * x) + shift[g] + generator.gauss(0, .2):.4f}\n" for x, g in rows))
        fitted = self.fit("y ~ s(x) + (1 | g)")
        for name in ("sd(s(x))", "sd(g: Intercept)", "s(x)[1]", "g[g3]: Intercept"):
            self.assertIn(name, fitted)
        self.succeeds("predict", "fit", "d.csv", "--out", "p.csv")
        error = [float(row["mean"]) - math.sin(4 * x) - shift[g] for row, (x, g) in zip(self.rows("p.csv"), rows)]
        self.assertLess(math.sqrt(sum(e * e for e in error) / len(error)), .1)
        self.succeeds("report", "fit")
        page = (self.folder / "fit/report.html").read_text()
        for part in ("Smooth terms", "Group effects"):
            self.assertIn(part, page)
        for figure in ("groups-1.dat", "smooth-1.dat"):
            self.assertTrue((self.folder / "fit/report-figures" / figure).exists())

    def test_priors_by_term(self):
        self.table()
        fitted = self.fit("y ~ x + z + g", "--prior", "z ~ normal(40, 0.001)", "--prior", "sigma ~ exponential(0.1)", "--prior",
                          "g ~ student_t(3, 0, 0.001)", codes=(0, 3))
        self.assertAlmostEqual(fitted["z"]["mean"], 40, delta=.01)
        self.assertLess(abs(fitted["g[b]"]["mean"]), .1)
        said = self.succeeds("summary", "fit").stdout
        for prior in ("normal(40, 0.001)", "exponential(0.1)", "student_t(3, 0, 0.001)"):
            self.assertIn(prior, said)
        self.fit("y ~ x + z + g", "--prior", "coefficients ~ horseshoe(0.1)", codes=(0, 3))
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ x", "--prior", "w ~ normal(0, 1)", says="no such parameter")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ x", "--prior", "x ~ normal(0, -1)", says="positive")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ x", "--prior", "x ~ beta(0, 1)", says="normal, student_t")

    def test_short_form_takes_families_and_priors(self):
        self.table()
        self.succeeds("fit", "d.csv", "--response", "count", "--column", "x", "--column", "z", "--family", "negbinomial", "--out",
                      "fit")
        self.assertEqual([p["name"] for p in self.record()["parameters"]], ["(Intercept)", "x", "z", "shape"])

    def test_prediction_scales_and_levels(self):
        self.table()
        self.fit("class ~ x + g")
        self.succeeds("predict", "fit", "d.csv", "--scale", "link", "--level", .8, "--out", "link.csv")
        self.succeeds("predict", "fit", "d.csv", "--level", .8, "--out", "response.csv")
        link, response = self.rows("link.csv")[0], self.rows("response.csv")[0]
        self.assertEqual(list(link)[:4], ["row", "mean", "q10", "q90"])
        self.assertAlmostEqual(1 / (1 + math.exp(-float(link["q10"]))), float(response["q10"]), places=6)
        self.write("new.csv", "x,g\n50,q\n")
        self.fails(DATA, "predict", "fit", "new.csv", says=["'q' is not among the 3 levels", "line 2"])

    def test_a_level_without_complete_rows_is_named(self):
        generator = random.Random(6)
        self.write("d.csv", "y,x,k\n" + "".join(
            f"{generator.gauss(0, 1):.3f},{'NA' if i % 5 == 4 else generator.gauss(0, 1)},{'abcbt'[i % 5]}\n" for i in range(60)))
        fitted = self.fit("y ~ x + k", "--missing", "drop", codes=(0, 3))
        self.assertEqual([name for name in fitted if name.startswith("k")], ["k[b]", "k[c]"])
        self.assertIn("factor 'k': 3 levels, base 'a'; no complete row has 't'", self.record()["notes"])

    def test_predictions_count_the_trials_of_new_rows(self):
        self.table()
        self.fit("wins | trials(games) ~ x", codes=(0, 3))
        self.write("new.csv", "x,games\n50,1\n50,400\n")
        self.succeeds("predict", "fit", "new.csv", "--out", "p.csv")
        one, many = (float(row["mean"]) for row in self.rows("p.csv"))
        self.assertAlmostEqual(many / one, 400, delta=1e-6)
        self.assertGreater(float(self.rows("p.csv")[1]["q95"]), many)
        self.write("new.csv", "x,games\n50,2.5\n")
        self.fails(DATA, "predict", "fit", "new.csv", says="games is 2.5, but counts are")

    def test_bad_formulas_are_one_sentence_with_a_caret(self):
        self.table()
        done = self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ x + ", says="character 9: the formula breaks off")
        self.assertIn("  y ~ x + \n          ^\n", done.stderr)
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ xx", says="no column 'xx' (did you mean 'x'?)")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ lg(x)", says="no function lg()")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ C(g, base=)", says="character 15: there is nothing after 'base='")
        done = self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ (x | )", says="character 10: the group is missing after '|'")
        self.assertIn("  y ~ (x | )\n           ^\n", done.stderr)
        self.write("k.csv", "y,id\n" + "".join(f"{i % 5},r{i}\n" for i in range(20)))
        self.fails(USAGE, "fit", "k.csv", "--formula", "y ~ id", says="another level in each of the 20 rows")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ (1 | group) + (1 | group:g)", says="are the same rows")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ x", "--family", "stiefel", says="--approximation stiefel")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ x", "--family", "gaussian", "--link", "probit", says="link")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ x", "--response", "y", says="no meaning with --formula")
        self.fails(USAGE, "fit", "d.csv", "--formula", "Surv(time, status) ~ x", "--family", "poisson", says="weibull or exponential")
        self.fails(USAGE, "fit", "d.csv", "--formula", "y ~ (1 + z | x)", says="more random effects")
        self.fails(DATA, "fit", "d.csv", "--formula", "y ~ log(z)", says="log(z) is")
        self.fails(DATA, "fit", "d.csv", "--formula", "count ~ x", "--family", "gamma", says="positive")

    def test_impossible_data_are_one_sentence(self):
        self.write("e.csv", "y,x,g,t,s\n" + "".join(f"0,{i},a,{i - 3},1\n" for i in range(20)))
        self.fails(DATA, "fit", "e.csv", "--formula", "y ~ x", "--family", "poisson", says="every count of y is 0")
        self.fails(DATA, "fit", "e.csv", "--formula", "y ~ x", says="y is '0' in every row: there is nothing to explain")
        self.fails(USAGE, "fit", "e.csv", "--formula", "x ~ t + (1 | g)", says="single level, 'a'")
        self.fails(DATA, "fit", "e.csv", "--formula", "Surv(t, s) ~ x", says="survival times must be positive")
        self.write("s.csv", "y,x\n" + "".join(f"{int(i > 9)},{i}\n" for i in range(20)))
        self.succeeds("fit", "s.csv", "--formula", "y ~ x", "--out", "fit", codes=(0, 3))
        self.assertIn("separated", " ".join(self.record()["notes"] + self.record()["warnings"]))
        self.write("g.csv", "y,x,g\n" + "".join(f"{int(i > 19)},{i},s{i % 4}\n" for i in range(40)))
        self.succeeds("fit", "g.csv", "--formula", "y ~ x + (1 | g)", "--out", "fit", codes=(0, 3))
        self.assertIn("separated", " ".join(self.record()["notes"] + self.record()["warnings"]))


if __name__ == "__main__":
    unittest.main()
