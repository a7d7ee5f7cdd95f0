"""Fits of log densities that are Python functions."""

import threading
import tracemalloc
import warnings

import numpy as np
import pytest

import magva


def check_moments(fit, gaussian):
    np.testing.assert_allclose(fit.mean, gaussian.mean, atol=1e-6)
    np.testing.assert_allclose(fit.covariance(), gaussian.covariance, rtol=1e-5)
    assert fit.trusted


def test_one_point_at_a_time(gaussian):
    fit = magva.fit(gaussian, gaussian.dim)
    check_moments(fit, gaussian)
    expected = 0.5 * gaussian.dim * np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(gaussian.covariance)[1]
    assert fit.elbo == pytest.approx(expected, abs=1e-6)


def test_batched_is_the_same_fit(gaussian):
    check_moments(magva.fit(gaussian.batched, gaussian.dim, batched=True), gaussian)


def test_gradient_apart_from_the_value(gaussian):
    fit = magva.fit(lambda t: gaussian(t)[0], gaussian.dim, jac=lambda t: gaussian(t)[1])
    check_moments(fit, gaussian)


def test_the_same_seed_gives_the_same_bits(gaussian):
    a, b = (magva.fit(gaussian, gaussian.dim, seed=3) for _ in range(2))
    assert a.mean.tobytes() == b.mean.tobytes()
    assert a.elbo == b.elbo


def test_names_and_start(gaussian):
    names = ["a", "b", "c", "d", "e"]
    fit = magva.fit(gaussian, 5, names=names, init={"b": 3.0})
    assert fit.names == names
    assert list(fit.draws(10)) == names
    check_moments(magva.fit(gaussian, 5, init=np.ones(5)), gaussian)


def test_an_array_in_a_list_of_names(gaussian):
    assert magva.fit(gaussian, 5, names=["mu", "b[1]", "b[2]", "b[3]", "b[4]"]).draws(7)["b"].shape == (7, 4)


def test_draws_may_be_kept_by_the_density(gaussian):
    kept = []

    def density(theta):
        kept.append(theta)
        return gaussian.batched(theta)

    magva.fit(density, gaussian.dim, batched=True)
    assert all(np.all(np.isfinite(theta)) for theta in kept)


def test_points_outside_of_the_support_are_rejected():
    def truncated(theta):
        return (-0.5 * theta @ theta, -theta) if np.all(theta < 6) else (-np.inf, np.full(2, np.nan))

    fit = magva.fit(truncated, 2)
    np.testing.assert_allclose(fit.sd, 1, rtol=0.01)


def test_options_reach_the_engine(gaussian):
    fit = magva.fit(gaussian, gaussian.dim, approximation="mean-field", seed=2)
    assert fit.rank == 0
    # The best independent Gaussian has the conditional variances; linear response finds the marginal ones.
    np.testing.assert_allclose(fit.residual_sd, 1 / np.sqrt(np.diag(gaussian.precision)), rtol=1e-3)
    np.testing.assert_allclose(fit.sd, np.sqrt(np.diag(np.linalg.inv(gaussian.precision))), rtol=1e-3)
    assert magva.fit(gaussian, gaussian.dim, rule="adadelta", iterations=50, rank=2).iterations == 50


def test_callback_sees_phases_and_can_stop(gaussian):
    seen = []
    magva.fit(gaussian, gaussian.dim, callback=lambda view: seen.append(view))
    assert {view.phase for view in seen} >= {"mode search", "assessment"}
    with pytest.warns(magva.InterruptedWarning, match="interrupted"):
        fit = magva.fit(gaussian, gaussian.dim, callback=lambda view: view.phase != "refinement")
    assert fit.stopped == "interrupted"
    assert not fit.trusted


def test_progress_is_shown(gaussian, capsys):
    magva.fit(gaussian, gaussian.dim, progress=True)
    magva.fit(gaussian, gaussian.dim, progress=False)
    assert "Traceback" not in capsys.readouterr().err


def test_fits_in_threads_do_not_disturb_each_other(gaussian):
    alone = magva.fit(gaussian, gaussian.dim).mean
    found = {}

    def work(i):
        found[i] = magva.fit(gaussian, gaussian.dim).mean

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(mean.tobytes() == alone.tobytes() for mean in found.values())


def test_the_lock_is_free_while_the_engine_works(ionosphere):
    ticks = []
    running = threading.Event()

    def tick():
        while not running.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    magva.fit_table(ionosphere, "Class", rule="adadelta", iterations=3000, rank=4)
    running.set()
    thread.join()
    assert len(ticks) > 5


def test_fork_after_a_fit(gaussian):
    import multiprocessing

    magva.fit(gaussian, gaussian.dim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            means = pool.map(_fit_mean, range(2))
    assert means[0] == means[1]


def _fit_mean(_):
    from conftest import KnownGaussian

    return magva.fit(KnownGaussian(5), 5).mean.tolist()


def test_memory_is_flat_over_a_thousand_fits():
    import resource

    def density(theta):
        return -0.5 * np.sum(theta**2, axis=1), -theta

    def fits(count):
        for _ in range(count):
            magva.fit(density, 2, batched=True, starts=1).draws(10)

    fits(100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    fits(900)
    python_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert python_bytes < 2**20
    assert grown < 8 * 1024, f"{grown} KiB more"


@pytest.mark.parametrize("dim", [1, 300])
def test_dimensions(dim):
    fit = magva.fit(lambda t: (-0.5 * np.sum(t**2, axis=1), -t), dim, batched=True)
    np.testing.assert_allclose(fit.sd, 1, rtol=1e-3)


def test_other_shapes(tmp_path):
    def log_exponential(theta):
        """The logarithm of an exponential variable: mean -.577, sd 1.283, 5 % quantile -2.970."""
        return float(theta[0] - np.exp(theta[0])), 1 - np.exp(theta)

    fit = magva.fit(log_exponential, 1, shape="skewed")
    assert fit.shape == "skewed"
    # Of 20,000 antithetic draws: an sd to 1 %, beside what the shape leaves.
    np.testing.assert_allclose(fit.sd, 1.2825, rtol=0.03)
    np.testing.assert_allclose(fit.mean, -0.5772, atol=0.03)
    # Five standard errors of a 5 % quantile from 4,000 draws.
    np.testing.assert_allclose(fit.quantiles([0.05])["5%"], -2.970, atol=0.25)
    np.testing.assert_allclose(fit.covariance(), fit.theta_sd[:, None] ** 2, rtol=1e-12)
    np.testing.assert_allclose(np.exp(fit.log_density([[0.0], [-1.0]])), [np.exp(-1), np.exp(-1 - np.exp(-1))], rtol=0.1)
    fit.save(tmp_path / "fit")
    again = magva.load(tmp_path / "fit")
    assert again.shape == "skewed"
    np.testing.assert_array_equal(again.theta_draws(10), fit.theta_draws(10))
    assert magva.fit(log_exponential, 1, shape="gaussian").shape == "gaussian"
