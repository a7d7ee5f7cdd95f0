"""Sds by linear response, where there are more columns than rows, where some are asked for, and where they are estimates."""
import math
import random
import unittest

from harness import Case, USAGE


def inverse(a):
    """By Gauss-Jordan elimination."""
    n = len(a)
    rows = [list(row) + [float(i == j) for j in range(n)] for i, row in enumerate(a)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k])]
    return [row[n:] for row in rows]


class Sds(Case):
    def table(self, rows, columns, seed, name="data.csv"):
        """Returns the predictors, with the intercept's ones."""
        generator = random.Random(seed)
        x = [[generator.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
        y = [int(generator.random() < 1 / (1 + math.exp(-1.5 * row[0] + row[1]))) for row in x]
        lines = [",".join([f"x{j}" for j in range(columns)] + ["y"])]
        lines += [",".join([*map(repr, row), str(value)]) for row, value in zip(x, y)]
        self.write(name, "\n".join(lines) + "\n")
        return [[1.0] + row for row in x]

    def sds(self, folder="fit"):
        return {p["name"]: p["sd"] for p in self.record(folder)["parameters"]}

    def test_all_sds_of_more_columns_than_rows(self):
        x = self.table(14, 24, 1)
        fit = ["fit", "data.csv", "--response", "y", "--prior-variance", 1]
        self.succeeds(*fit, "--rank", 2, "--out", "low")
        self.succeeds(*fit, "--approximation", "full-rank", "--out", "full")
        self.assertEqual(self.record("low")["details"]["sd"], "linear response")
        low, full = self.sds("low"), self.sds("full")
        for name in full:
            self.assertAlmostEqual(low[name] / full[name], 1, delta=.01)
            self.assertLess(low[name], 1)
        self.assertGreater(max(p["sd"] / p["sd_gaussian"] for p in self.record("low")["parameters"]), 1.01)
        self.assertIn("by linear response", self.succeeds("summary", "low").stdout)
        # What is read off the stored posterior has these sds, too.
        self.succeeds("draws", "low", "-n", 4000, "--out", "draws.csv")
        draws = [[float(row[name]) for name in low] for row in self.rows("draws.csv")]
        for j, name in enumerate(low):
            values = [row[j] for row in draws]
            mean = sum(values) / len(values)
            sd = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
            self.assertAlmostEqual(sd / low[name], 1, delta=5 / math.sqrt(2 * len(values)))
        # Along the rows the posterior is narrower than independent parameters with these sds.
        row = x[0]
        values = [sum(a * b for a, b in zip(row, draw)) for draw in draws]
        mean = sum(values) / len(values)
        spread = sum((v - mean) ** 2 for v in values) / len(values)
        self.assertLess(spread, .7 * sum((a * sd) ** 2 for a, sd in zip(row, low.values())))

    def test_a_gaussian_posterior_has_its_own_sds(self):
        """Counts that are large enough are nearly Gaussian: the posterior's precision is I / v + X' diag(y) X."""
        generator = random.Random(2)
        x = [[generator.gauss(0, .02) for _ in range(9)] for _ in range(5)]
        y = [round(1e6 * math.exp(sum(row))) for row in x]
        lines = [",".join([f"x{j}" for j in range(9)] + ["y"])]
        lines += [",".join([*map(repr, row), str(value)]) for row, value in zip(x, y)]
        self.write("counts.csv", "\n".join(lines) + "\n")
        self.succeeds("fit", "counts.csv", "--response", "y", "--model", "poisson", "--prior-variance", 400, "--rank", 1, "--out",
                      "fit", codes=(0, 3))
        self.assertEqual(self.record()["details"]["sd"], "linear response")
        rows = [[1.0] + row for row in x]
        precision = [[sum(n * row[i] * row[j] for n, row in zip(y, rows)) + (i == j) / 400 for j in range(10)] for i in range(10)]
        wanted = [math.sqrt(row[i]) for i, row in enumerate(inverse(precision))]
        for sd, found in zip(wanted, self.sds().values()):
            self.assertAlmostEqual(found / sd, 1, delta=.01)

    def test_those_asked_for(self):
        self.table(60, 139, 3)
        fit = ["fit", "data.csv", "--response", "y", "--prior", "coefficients ~ student_t(4, 0, 0.3)", "--rank", 2, "--starts", 1]
        self.succeeds(*fit, "--sd-for", "x3,x7", "--sd-for", "x0", "--out", "fit", codes=(0, 3))
        record = self.record()
        self.assertEqual(record["details"]["sd_for"], ["x0", "x3", "x7"])
        self.assertEqual(record["details"]["sd"], "linear response")
        for p in record["parameters"]:
            if p["name"] in ("x0", "x3", "x7"):
                self.assertGreater(p["sd"], 1.01 * p["sd_gaussian"])
                self.assertNotIn("sd_se", p)
        self.assertIn("for the 3 asked for", self.succeeds("summary", "fit").stdout)
        self.fails(USAGE, *fit, "--sd-for", "nobody", "--out", "other", says="nobody")
        self.fails(USAGE, "fit", "data.csv", "--response", "y", "--rule", "adam", "--sd-for", "x0", "--out", "other", says="--sd-for")

    def test_estimates_of_those_that_would_take_too_long(self):
        """820 rows by 800 columns of low rank: no dense correction, but estimates with their standard errors."""
        self.table(820, 799, 4)
        fit = ["fit", "data.csv", "--response", "y", "--prior-variance", 1, "--rank", 1, "--shape", "gaussian"]
        self.succeeds(*fit, "--sd-for", "x1", "--threads", 1, "--out", "fit", codes=(0, 3))
        record = self.record()
        self.assertEqual(record["details"]["sd"], "linear response")
        self.assertEqual(record["details"]["sd_estimates"]["parameters"], 799)
        for p in record["parameters"]:
            if p["name"] == "x1":
                self.assertNotIn("sd_se", p)
                continue
            self.assertLessEqual(p["sd_se"], .05)
            self.assertAlmostEqual((p["q95"] - p["q05"]) / p["sd"], 2 * 1.6448536, places=5)
        ratios = sorted(p["sd"] / p["sd_gaussian"] for p in record["parameters"])
        self.assertGreater(ratios[len(ratios) // 2], 1.2)
        # One of these by conjugate gradients.
        self.succeeds(*fit, "--sd-for", "x5", "--threads", 2, "--out", "other", codes=(0, 3))
        asked = {p["name"]: p for p in self.record("other")["parameters"]}["x5"]
        estimated = {p["name"]: p for p in record["parameters"]}["x5"]
        self.assertLess(abs(math.log(estimated["sd"] / asked["sd"])), 4 * estimated["sd_se"] + .03)
        # The same whatever the number of threads, and in other intervals.
        for p, other in zip(record["parameters"], self.record("other")["parameters"]):
            if p["name"] not in ("x1", "x5"):
                self.assertEqual(p, other)
        shown = self.succeeds("summary", "fit", "--level", ".5").stdout
        self.assertIn("estimates of 799", shown)

    def test_fits_with_draws_of_many_parameters(self):
        """An ordered response is fitted with draws; its low rank goes on to full rank, and every sd has a standard error."""
        generator = random.Random(6)
        x = [[generator.gauss(0, 1) for _ in range(134)] for _ in range(300)]
        y = [1 + (e > -1) + (e > 1) for e in (.8 * row[0] - .6 * row[1] + generator.gauss(0, 1.7) for row in x)]
        lines = [",".join([f"x{j}" for j in range(134)] + ["y"])]
        lines += [",".join([*map(repr, row), str(value)]) for row, value in zip(x, y)]
        self.write("ordered.csv", "\n".join(lines) + "\n")
        self.succeeds("fit", "ordered.csv", "--response", "y", "--family", "ordered", "--prior-variance", 1, "--rank", 2, "--starts", 1,
                      "--out", "fit", codes=(0, 3))
        record = self.record()
        self.assertEqual(record["details"]["expectations"], "draws")
        self.assertEqual(record["details"]["sd"], "linear response")
        self.assertGreater(record["details"]["sd_se"], 0)
        self.assertLess(record["details"]["sd_se"], .05)
        ratios = sorted(p["sd"] / p["sd_gaussian"] for p in record["parameters"] if p["name"].startswith("x"))
        self.assertGreater(ratios[0], 1.05)
        self.assertLess(ratios[-1], 2)
        self.assertIn("by linear response (standard error", self.succeeds("summary", "fit").stdout)


if __name__ == "__main__":
    unittest.main()
