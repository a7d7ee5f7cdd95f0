"""Approximations of other shapes than the Gaussian: asked for, found by the default, and used by all that reads a fit."""
import math
import random
import unittest

from harness import Case


def empty_level(generator):
    """A factor level without successes: its coefficient's posterior goes on far to one side."""
    lines = ["site,y"]
    for _ in range(60):
        lines.append(f"a,{int(generator.random() < .5)}")
    lines += ["b,0"] * 8
    return "\n".join(lines) + "\n"


class Shape(Case):
    FIT = ["fit", "data.csv", "--formula", "y ~ site", "--family", "bernoulli", "--prior-variance", 100]

    def setUp(self):
        super().setUp()
        self.write("data.csv", empty_level(random.Random(1)))

    def truth(self):
        """Mean and sd of the coefficient of b, by quadrature over it and the intercept."""
        rows = self.rows("data.csv")
        a = [int(row["y"]) for row in rows if row["site"] == "a"]
        n, k, empty = len(a), sum(a), len(rows) - len(a)

        def log1pexp(x):
            return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))

        mass = first = second = 0
        for i in range(-60, 61):
            intercept = i / 20
            for j in range(-900, 101):
                b = j / 20
                log_p = k * intercept - n * log1pexp(intercept) - empty * log1pexp(intercept + b)
                log_p -= .5 * (intercept ** 2 + b ** 2) / 100
                weight = math.exp(log_p + 42)
                mass, first, second = mass + weight, first + weight * b, second + weight * b * b
        mean = first / mass
        return mean, math.sqrt(second / mass - mean * mean)

    def coefficient(self, folder):
        return next(p for p in self.record(folder)["parameters"] if p["name"] == "site[b]")

    def test_a_skewed_shape_is_nearer_than_the_gaussian(self):
        self.ends(*self.FIT[1:], "--shape", "gaussian", "--out", "gaussian")
        self.ends(*self.FIT[1:], "--shape", "skewed", "--out", "skewed")
        details = self.record("skewed")["details"]
        self.assertEqual(details["shape"], "skewed")
        self.assertEqual([tried["shape"] for tried in details["shapes"]], ["gaussian", "skewed"])
        self.assertGreater(self.record("skewed")["elbo"], self.record("gaussian")["elbo"] + .05)
        mean, sd = self.truth()
        found = self.coefficient("skewed")
        self.assertLess(abs(found["mean"] - mean) / sd, .1)
        self.assertLess(abs(math.log(found["sd"] / sd)), .1)
        self.assertLess(found["sd_gaussian"], .9 * sd)
        # The quantiles are skewed, too.
        self.assertGreater(found["q50"] - found["q05"], 1.2 * (found["q95"] - found["q50"]))

    def test_the_default_finds_it_and_says_what_it_tried(self):
        done = self.succeeds(*self.FIT, "--out", "fit")
        details = self.record()["details"]
        self.assertEqual(details["shape"], "skewed")
        self.assertEqual(sum(tried["kept"] for tried in details["shapes"]), 1)
        self.assertFalse(details["shapes"][0]["kept"])
        self.assertTrue(self.record()["trusted"])
        self.assertIn(details["shape"], done.stdout)

    def test_everything_that_reads_a_fit_takes_the_shape(self):
        self.ends(*self.FIT[1:], "--shape", "skewed", "--out", "fit")
        found = self.coefficient("fit")
        self.succeeds("draws", "fit", "-n", 4000, "--log-density", "--out", "draws.csv")
        values = [float(row["site[b]"]) for row in self.rows("draws.csv")]
        mean = sum(values) / len(values)
        sd = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        # Five standard errors of a mean from 4,000 draws; an sd of a margin with a kurtosis below 10.
        self.assertLess(abs(mean - found["mean"]) / found["sd"], .08)
        self.assertLess(abs(math.log(sd / found["sd"])), .12)
        self.succeeds("predict", "fit", "data.csv", "--out", "predictions.csv")
        last = self.rows("predictions.csv")[-1]
        self.assertTrue(any(0 < float(value) < .12 for key, value in last.items() if key.startswith("p")), last)
        self.succeeds("summary", "fit", "--level", ".5")
        self.succeeds("report", "fit")
        self.succeeds("compare", "fit", "fit")

    def test_a_plain_regression_stays_as_it_is(self):
        self.logistic_table("plain.csv")
        for shape in ("auto", "gaussian"):
            self.succeeds("fit", "plain.csv", "--response", "y", "--shape", shape, "--out", shape)
        self.assertNotIn("shapes", self.record("auto")["details"])
        self.assertEqual((self.folder / "auto/posterior.magva").read_bytes(),
                         (self.folder / "gaussian/posterior.magva").read_bytes())

    def test_what_has_no_meaning_is_refused(self):
        self.fails(2, *self.FIT, "--shape", "skewed", "--layers", 3, "--out", "fit", says="--shape flow")
        self.fails(2, *self.FIT, "--shape", "flow", "--rule", "adam", "--out", "fit", says=["--shape", "--rule"])
        self.fails(2, *self.FIT, "--shape", "round", "--out", "fit", says=["shape", "skewed"])
        self.fails(2, "fit", "data.csv", "--formula", "y ~ 1 + (1 | site)", "--family", "bernoulli", "--shape", "flow",
                   "--out", "fit", says=["groups", "--shape"])


if __name__ == "__main__":
    unittest.main()
