"""Every adapter against one posterior with a known answer: a conjugate normal mean, and scales on their own scale."""

import importlib.util
import os
import pathlib

import numpy as np
import pytest

import magva

RNG = np.random.default_rng(11)
Y = RNG.normal(1.5, 2.0, size=40)
# y ~ N(mu, 2), mu ~ N(0, 3): the posterior of mu is a Gaussian.
PRECISION = 1 / 9 + len(Y) / 4
MEAN = Y.sum() / 4 / PRECISION
SD = PRECISION**-0.5
EVIDENCE = float(-0.5 * len(Y) * np.log(2 * np.pi * 4) - 0.5 * np.sum(Y**2) / 4 - 0.5 * np.log(9 * PRECISION) + 0.5 * MEAN**2 * PRECISION)


def check(fit, name="mu"):
    summary = fit.summary()
    assert summary.loc[name, "mean"] == pytest.approx(MEAN, abs=1e-3 * SD + 5 * SD / np.sqrt(4000))
    assert summary.loc[name, "sd"] == pytest.approx(SD, rel=0.05)
    assert fit.elbo == pytest.approx(EVIDENCE, abs=1e-6)
    assert fit.trusted


def test_numpy():
    def density(theta):
        mu = theta[0]
        value = -0.5 * np.sum((Y - mu) ** 2) / 4 - 0.5 * len(Y) * np.log(2 * np.pi * 4) - 0.5 * mu**2 / 9 - 0.5 * np.log(2 * np.pi * 9)
        return value, np.array([np.sum(Y - mu) / 4 - mu / 9])

    check(magva.fit(density, 1, names=["mu"]))


class TestJax:
    jax = pytest.importorskip("jax")

    @staticmethod
    def log_p(params):
        import jax.numpy as jnp
        from jax.scipy.stats import norm

        return jnp.sum(norm.logpdf(Y, params["mu"], 2.0)) + norm.logpdf(params["mu"], 0.0, 3.0)

    def test_known_answer(self):
        import jax

        before = jax.config.jax_enable_x64
        check(magva.fit_jax(self.log_p, {"mu": 0.0}))
        assert jax.config.jax_enable_x64 == before

    def test_pytrees_and_reports(self):
        import jax.numpy as jnp

        def log_p(params):
            layer, scale = params["layer"], params["log_scale"]
            return -0.5 * jnp.sum(layer[0] ** 2) - 0.5 * jnp.sum(layer[1] ** 2) - 0.5 * scale**2

        params = {"layer": [np.zeros((2, 3)), np.zeros(2)], "log_scale": np.float32(0)}
        fit = magva.fit_jax(log_p, params)
        draws = fit.draws(5)
        assert {name: array.shape for name, array in draws.items()} == {"layer.0": (5, 2, 3), "layer.1": (5, 2), "log_scale": (5,)}
        reported = magva.fit_jax(log_p, params, report=lambda p: {"scale": jnp.exp(p["log_scale"])})
        assert reported.names == ["scale"]
        assert reported.summary().loc["scale", "50%"] == pytest.approx(1, abs=5 * 1.2533 / np.sqrt(4000))

    def test_faults(self):
        with pytest.raises(ValueError, match="must return one number"):
            magva.fit_jax(lambda p: p["x"], {"x": np.zeros(3)})
        with pytest.raises(ValueError, match="no arrays"):
            magva.fit_jax(lambda p: 0.0, {})
        with pytest.raises(ValueError, match="params must hold arrays of numbers"):
            magva.fit_jax(lambda p: 0.0, {"x": "text"})
        with pytest.raises(ValueError, match="params must be finite"):
            magva.fit_jax(lambda p: 0.0, {"x": np.nan})
        for answer in (lambda p: None, lambda p: (-(p["x"] ** 2), -2 * p["x"])):
            with pytest.raises(TypeError, match=r"log_density returned a .* and must return one number"):
                magva.fit_jax(answer, {"x": 0.0})
        with pytest.raises(TypeError, match="complex"):
            magva.fit_jax(lambda p: 1j * p["x"], {"x": 0.0})
        with pytest.raises(TypeError, match="report must return a dict"):
            magva.fit_jax(lambda p: -(p["x"] ** 2), {"x": 0.0}, report=lambda p: p["x"])
        with pytest.raises(magva.OptionError, match="did you mean 'seed'"):
            magva.fit_jax(lambda p: 0.0, {"x": 0.0}, sed=1)

        def broken(p):
            raise RuntimeError("inside")

        with pytest.raises(RuntimeError, match="inside"):
            magva.fit_jax(broken, {"x": 0.0})

    def test_batches_of_any_size(self):
        import jax.numpy as jnp

        from magva._jax import JaxFunction

        mapped = JaxFunction(lambda theta: {"sum": jnp.sum(theta), "squares": theta**2})
        theta = RNG.normal(size=(600, 3))
        for count in (1, 5, 16, 17, 256, 600):
            found = mapped(theta[:count])
            np.testing.assert_allclose(found["sum"], theta[:count].sum(axis=1), rtol=1e-14)
            np.testing.assert_array_equal(found["squares"], theta[:count] ** 2)

    def test_a_size_is_compiled_when_it_pays(self):
        from magva import _jax

        mapped = _jax.JaxFunction(lambda theta: theta.sum())
        theta = RNG.normal(size=(256, 3))
        # A call of 256 draws costs 15 calls more than it would in one.
        calls = int(_jax._COMPILING / (15 * _jax._CALLING))
        mapped(theta[:1])
        for _ in range(calls):
            mapped(theta)
        assert set(mapped._compiled) == {16}
        for _ in range(2):
            mapped(theta)
        assert set(mapped._compiled) == {16, 256}

    def test_no_size_is_compiled_twice(self, monkeypatch):
        from magva import _jax

        compiled = []
        original = _jax.JaxFunction._compile
        monkeypatch.setattr(_jax.JaxFunction, "_compile", lambda self, size, dim: compiled.append(size) or original(self, size, dim))
        monkeypatch.setattr(_jax, "_COMPILING", 0.0)
        mapped = _jax.JaxFunction(lambda theta: theta.sum())
        theta = RNG.normal(size=(256, 3))
        mapped(theta[:16])
        mapped._point = 1.0  # 129 draws cost less in nine batches of 16 than in one of 256
        for count in (256, 129, 129):
            mapped(theta[:count])
        assert compiled == [16, 256]

    def test_batches_stay_in_the_cache(self):
        import jax.numpy as jnp

        from magva import _jax

        mapped = _jax.JaxFunction(lambda theta: jnp.sum(jnp.sort(jnp.sin(jnp.arange(20_000.0) * theta[0]))))
        theta = RNG.normal(size=(256, 3))
        mapped(theta[:1])
        assert mapped._largest == 16  # 160 kB a draw
        expected = np.sin(np.arange(20_000.0) * theta[:, :1]).sum(axis=1)
        np.testing.assert_allclose(mapped(theta), expected, rtol=1e-9, atol=1e-9)

    def test_values_are_asked_for_in_batches_that_suit_gradients(self):
        import jax.numpy as jnp

        from magva import _jax

        density = _jax.JaxDensity(lambda theta: -jnp.sum(jnp.sort(jnp.cosh(jnp.arange(20_000.0) * theta[0] / 2e4))))
        columns = np.asfortranarray(RNG.normal(size=(1, 256)))
        values, _ = density(columns[:, :1])
        assert density._function.largest == 16
        density._wasted = _jax._COMPILING
        np.testing.assert_allclose(density.values(columns)[:1], values, rtol=1e-12)
        assert set(density._value_function._compiled) == {16}

    def test_values_alone_are_those_with_gradients(self):
        import jax.numpy as jnp

        from magva import _jax

        density = _jax.JaxDensity(lambda theta: -jnp.sum(jnp.cosh(theta)))
        columns = np.asfortranarray(RNG.normal(size=(3, 40)))
        values, _ = density(columns)
        np.testing.assert_array_equal(density.values(columns), values)
        assert not density._value_function._compiled
        density._wasted = _jax._COMPILING
        np.testing.assert_allclose(density.values(columns), values, rtol=1e-14)
        assert density._value_function._compiled

    def test_draws_are_assessed_by_values(self, monkeypatch):
        from magva import _jax

        asked = []
        values = _jax.JaxDensity.values
        monkeypatch.setattr(_jax.JaxDensity, "values", lambda self, columns: asked.append(columns.shape[1]) or values(self, columns))
        check(magva.fit_jax(self.log_p, {"mu": 0.0}))
        assert sum(asked) >= 1000


class TestNumpyro:
    numpyro = pytest.importorskip("numpyro")

    def test_known_answer(self):
        import numpyro
        import numpyro.distributions as dist

        def model(y):
            mu = numpyro.sample("mu", dist.Normal(0.0, 3.0))
            numpyro.sample("y", dist.Normal(mu, 2.0), obs=y)

        fit = magva.fit_numpyro(model, Y)
        check(fit)
        data = fit.to_arviz(50)
        assert data.log_likelihood["y"].shape == (1, 50, len(Y))
        assert data.posterior_predictive["y"].shape == (1, 50, len(Y))
        np.testing.assert_array_equal(data.observed_data["y"], Y)
        mu = data.posterior["mu"].values[0, 3]
        expected = -0.5 * (Y - mu) ** 2 / 4 - 0.5 * np.log(2 * np.pi * 4)
        np.testing.assert_allclose(data.log_likelihood["y"].values[0, 3], expected, rtol=1e-10)

    def test_sites_are_constrained(self):
        import numpyro
        import numpyro.distributions as dist

        def model():
            sigma = numpyro.sample("sigma", dist.LogNormal(0.5, 0.2))
            weights = numpyro.sample("weights", dist.Dirichlet(np.full(3, 50.0)))
            numpyro.deterministic("twice", 2 * sigma + 0 * weights[0])

        fit = magva.fit_numpyro(model)
        draws = fit.draws(100)
        assert draws["weights"].shape == (100, 3)
        np.testing.assert_allclose(draws["weights"].sum(axis=1), 1)
        np.testing.assert_allclose(draws["twice"], 2 * draws["sigma"])
        assert fit.summary().loc["sigma", "50%"] == pytest.approx(np.exp(0.5), rel=5 * 0.2 * 1.2533 / np.sqrt(4000))

    def test_values_that_the_model_computes(self):
        """Observations, bounds and learnt parameters are known when the model has run, and it is only traced."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        def model(y):
            shift = numpyro.param("shift", jnp.array(1.0))
            low = jnp.sqrt(jnp.array(4.0))
            x = numpyro.sample("x", dist.Uniform(low, low + 2))
            cap = numpyro.sample("cap", dist.Normal(0.0, 1.0))
            below = numpyro.sample("below", dist.TruncatedNormal(0.0, 1.0, high=cap))
            numpyro.sample("z", dist.Normal(x + 0 * below, 1.0), obs=jnp.exp(jnp.log(y)) + 0 * shift)

        fit = magva.fit_numpyro(model, np.full(3, 3.0))
        draws = fit.draws(200)
        assert np.all((draws["x"] > 2) & (draws["x"] < 4))
        assert np.all(draws["below"] < draws["cap"])
        np.testing.assert_allclose(fit.to_arviz(5).observed_data["z"], 3.0, rtol=1e-14)

    def test_starts_near_the_origin_if_the_density_is_finite_there(self):
        from magva._numpyro import _start

        def nowhere_near(columns):
            return np.where(np.abs(columns).max(axis=0) < 0.1, -np.inf, 0.0), None

        assert np.abs(_start(lambda columns: (np.zeros(columns.shape[1]), None), 20, 1)).max() < 0.1
        assert 0.1 < np.abs(_start(nowhere_near, 20, 1)).max() < 2

    def test_no_point_with_a_density(self):
        import numpyro
        import numpyro.distributions as dist

        def model():
            x = numpyro.sample("x", dist.Normal(0.0, 1.0))
            numpyro.factor("nowhere", -np.inf + 0 * x)

        with pytest.raises(ValueError, match="not finite at any of 16"):
            magva.fit_numpyro(model)

    def test_faults(self):
        with pytest.raises(magva.OptionError, match=r"no option 'y'.*model_kwargs=dict"):
            magva.fit_numpyro(lambda y: None, y=Y)
        with pytest.raises(TypeError, match="model is a int"):
            magva.fit_numpyro(3)

    @pytest.mark.filterwarnings("ignore::FutureWarning")
    @pytest.mark.skipif(importlib.util.find_spec("funsor") is not None, reason="NumPyro can sum discrete sites out")
    def test_discrete_sites(self):
        numpyro = pytest.importorskip("numpyro")

        def model():
            kind = numpyro.sample("kind", numpyro.distributions.Bernoulli(0.5))
            numpyro.sample("y", numpyro.distributions.Normal(kind, 1.0), obs=1.0)

        with pytest.raises(ImportError, match="discrete latent sites"):
            magva.fit_numpyro(model)


class TestPymc:
    def test_known_answer_with_dims(self):
        pm = pytest.importorskip("pymc")
        with pm.Model(coords={"case": np.arange(len(Y))}) as model:
            mu = pm.Normal("mu", 0, 3)
            pm.Normal("y", mu, 2, observed=Y, dims="case")
            pm.Deterministic("residual", Y - mu, dims="case")
        fit = magva.fit_pymc(model)
        check(fit)
        data = fit.to_arviz(20)
        assert data.posterior["residual"].dims == ("chain", "draw", "case")
        assert data.log_likelihood["y"].shape == (1, 20, len(Y))
        np.testing.assert_array_equal(data.observed_data["y"], Y)

    def test_transforms_and_discrete_variables(self):
        pm = pytest.importorskip("pymc")
        with pm.Model():
            pm.LogNormal("sigma", 0.5, 0.2)
            fit = magva.fit_pymc()
        assert fit.names == ["sigma"]
        assert fit.theta_names == ["sigma_log__"]
        assert fit.summary().loc["sigma", "50%"] == pytest.approx(np.exp(0.5), rel=5 * 0.2 * 1.2533 / np.sqrt(4000))
        with pm.Model() as model:
            pm.Bernoulli("z", 0.5)
        with pytest.raises(ValueError, match=r"discrete variables \(z\)"):
            magva.fit_pymc(model)
        with pytest.raises(ValueError, match="no free variables"):
            magva.fit_pymc(pm.Model())
        with pytest.raises(TypeError, match=r"must be a pymc\.Model"):
            magva.fit_pymc(3)
        with pytest.raises(TypeError, match="there is no model: give it"):
            magva.fit_pymc()

    def test_predictions_are_those_of_the_posterior(self):
        """Of variables with coordinates, too: PyMC would draw these from the prior if it took the coordinates for changed."""
        pm = pytest.importorskip("pymc")
        far = np.array([20.0, -20.0, 40.0])
        with pm.Model(coords={"case": ["a", "b", "c"]}) as model:
            effect = pm.Normal("effect", 0, 100, dims="case")
            pm.Normal("y", effect, 0.1, observed=far, dims="case")
        predicted = magva.fit_pymc(model).to_arviz(200).posterior_predictive["y"].values[0]
        # Posterior and noise have sds of .1.
        np.testing.assert_allclose(predicted.mean(axis=0), far, atol=5 * 0.1 * np.sqrt(2 / 200))


STAN = pathlib.Path(os.environ.get("MAGVA_TEST_STAN", pathlib.Path(__file__).parents[2] / "build" / "stan"))


class TestStan:
    def test_a_library(self):
        library = STAN / "test_stan_constrained.so"
        if not library.exists():
            pytest.skip("the test's Stan libraries have not been built")
        fit = magva.fit_stan(library, data={"location": 0.5, "spread": 0.2, "alpha": np.full(3, 50.0)})
        draws = fit.draws(10)
        np.testing.assert_allclose(draws["p"].sum(axis=1), 1)
        assert draws["Sigma"].shape == (10, 2, 2)
        assert fit.summary().loc["sigma", "50%"] == pytest.approx(np.exp(0.5), rel=5 * 0.2 * 1.2533 / np.sqrt(4000))

    def test_a_program(self, tmp_path):
        if "BRIDGESTAN" not in os.environ:
            pytest.skip("compiling a Stan program needs BridgeStan: set BRIDGESTAN to its folder")
        program = tmp_path / "normal.stan"
        program.write_text(
            "data { int n; vector[n] y; } parameters { real mu; } model { target += normal_lpdf(mu | 0, 3) + normal_lpdf(y | mu, 2); }"
        )
        check(magva.fit_stan(program, data={"n": len(Y), "y": Y}))

    def test_an_object_of_bridgestan(self):
        class StanModel:
            """The part of bridgestan.StanModel that is used."""

            def name(self):
                return "normal"

            def param_unc_num(self):
                return 1

            def param_num(self, **_):
                return 1

            def param_unc_names(self):
                return ["mu"]

            def param_names(self, **_):
                return ["mu"]

            def log_density_gradient(self, theta, **_):
                if theta[0] > 100:
                    raise RuntimeError("rejected")
                mu = theta[0]
                value = -0.5 * np.sum((Y - mu) ** 2) / 4 - 0.5 * len(Y) * np.log(2 * np.pi * 4)
                return value - 0.5 * mu**2 / 9 - 0.5 * np.log(2 * np.pi * 9), np.array([np.sum(Y - mu) / 4 - mu / 9])

            def param_constrain(self, theta, **_):
                return theta

        check(magva.fit_stan(StanModel()))
        with pytest.raises(ValueError, match="leave data out"):
            magva.fit_stan(StanModel(), data={})

    def test_faults(self, tmp_path):
        with pytest.raises(OSError, match=r"nowhere\.so"):
            magva.fit_stan(tmp_path / "nowhere.so")
        with pytest.raises(TypeError, match="numbers"):
            magva.fit_stan(tmp_path / "nowhere.so", data={"x": "text"})
