"""Means and sds of a fit against the best full-covariance Gaussian, which the test computes itself without draws."""
import math
import unittest

from harness import Case

NODES = [k / 8 for k in range(-64, 65)]  # of a trapezoidal rule for a standard normal, exact to rounding
WEIGHTS = [math.exp(-z * z / 2) for z in NODES]
TOTAL = sum(WEIGHTS)


def expect(f, mean, variance):
    sd = math.sqrt(variance)
    return sum(w * f(mean + sd * z) for w, z in zip(WEIGHTS, NODES)) / TOTAL


def logistic(x):
    return 1 / (1 + math.exp(-x))


def inverse(a):
    det = a[0][0] * a[1][1] - a[0][1] * a[1][0]
    return [[a[1][1] / det, -a[0][1] / det], [-a[1][0] / det, a[0][0] / det]]


def best_gaussian(rows, slope, weight, prior):
    """Newton steps with expected gradient and curvature (Opper and Archambeau 2009) for an intercept and one slope."""
    mean, covariance = [0, 0], [[.01, 0], [0, .01]]
    for _ in range(200):
        gradient = [-m / prior for m in mean]
        curvature = [[1 / prior, 0], [0, 1 / prior]]
        for x, y in rows:
            eta = mean[0] + mean[1] * x
            variance = covariance[0][0] + 2 * x * covariance[0][1] + x * x * covariance[1][1]
            residual = y - expect(slope, eta, variance)
            w = expect(weight, eta, variance)
            gradient = [gradient[0] + residual, gradient[1] + residual * x]
            curvature = [[curvature[0][0] + w, curvature[0][1] + w * x],
                         [curvature[1][0] + w * x, curvature[1][1] + w * x * x]]
        covariance = inverse(curvature)
        step = [sum(covariance[i][j] * gradient[j] for j in range(2)) for i in range(2)]
        mean = [m + .7 * s for m, s in zip(mean, step)]
        if max(map(abs, step)) < 1e-9:
            break
    return mean, [math.sqrt(covariance[0][0]), math.sqrt(covariance[1][1])]


def closed_form(rows, precision, prior):
    """The posterior of an intercept and one slope for noise of known precision."""
    n, x, xx = len(rows), sum(r[0] for r in rows), sum(r[0] ** 2 for r in rows)
    covariance = inverse([[precision * n + 1 / prior, precision * x], [precision * x, precision * xx + 1 / prior]])
    right = [precision * sum(y for _, y in rows), precision * sum(x * y for x, y in rows)]
    mean = [sum(covariance[i][j] * right[j] for j in range(2)) for i in range(2)]
    return mean, [math.sqrt(covariance[0][0]), math.sqrt(covariance[1][1])]


class Posterior(Case):
    def check(self, fitted, mean, sd):
        # Gaussians within .002 nats of the best, as fits with a few parameters are: |shift| <= sqrt(2 * .002) = .063 sds, and
        # log sds within sqrt(.002) = .045.
        for parameter, m, s in zip(fitted, mean, sd):
            self.assertLess(abs(parameter["mean"] - m), .063 * s, parameter)
            self.assertLess(abs(math.log(parameter["sd_gaussian"] / s)), .045, parameter)

    def test_poisson(self):
        self.number_table(n=60)
        self.write("d.csv", "x,count\n" + "".join(f"{r['x']},{r['count']}\n" for r in self.rows("numbers.csv")))
        rows = [(float(r["x"]), float(r["count"])) for r in self.rows("d.csv")]
        self.succeeds("fit", "d.csv", "--response", "count", "--model", "poisson", "--prior-variance", 10, "--out", "fit")
        self.check(self.record()["parameters"], *best_gaussian(rows, math.exp, math.exp, 10))

    def test_logistic(self):
        self.number_table(n=60)
        table = [(r["x"], int(float(r["y"]) > 1)) for r in self.rows("numbers.csv")]
        self.write("d.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y in table))
        rows = [(float(x), y) for x, y in table]
        self.succeeds("fit", "d.csv", "--response", "y", "--model", "logistic", "--prior-variance", 10, "--out", "fit")
        self.check(self.record()["parameters"],
                   *best_gaussian(rows, logistic, lambda eta: logistic(eta) * (1 - logistic(eta)), 10))

    def test_linear(self):
        self.number_table(n=60)
        rows = [(float(r["x"]), float(r["y"])) for r in self.rows("numbers.csv")]
        self.write("d.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
        self.succeeds("fit", "d.csv", "--response", "y", "--model", "linear", "--prior-variance", 10, "--out", "fit")
        *coefficients, sigma = self.record()["parameters"]
        # log sigma is Gaussian: E[1 / sigma^2], the noise's precision for the coefficients, follows from its mean and sd.
        spread = math.log1p((sigma["sd"] / sigma["mean"]) ** 2)
        centre = math.log(sigma["mean"]) - spread / 2
        self.check(coefficients, *closed_form(rows, math.exp(2 * spread - 2 * centre), 10))


if __name__ == "__main__":
    unittest.main()
