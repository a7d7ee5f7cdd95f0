"""Stan models through the command: libraries of the project's own behind BridgeStan's interface, and real programs where
BRIDGESTAN names a BridgeStan folder."""
import json
import math
import os
import pathlib
import signal
import subprocess
import unittest

from harness import DATA, IO, NOT_TRUSTED, PROGRAM, SOURCE, USAGE, Case

LIBRARIES = pathlib.Path(os.environ.get("MAGVA_TEST_STAN", "nowhere"))
PROGRAMS = SOURCE / "tests/stan/programs"


@unittest.skipUnless(LIBRARIES.is_dir(), "the test libraries were not built (MAGVA_TEST_STAN)")
class Libraries(Case):
    def library(self, name):
        return LIBRARIES / f"test_stan_{name}.so"

    def gaussian(self):
        self.write("data.json", json.dumps({"mean": [1, -2, 3], "covariance": [[4, 1, 0], [1, 2, .5], [0, .5, 1]]}))
        return self.library("gaussian")

    def by_name(self, folder="fit"):
        return {p["name"]: p for p in self.record(folder)["parameters"]}

    def test_a_gaussian_with_known_answer(self):
        self.succeeds("fit", self.gaussian(), "--data", "data.json", "--out", "fit")
        found = self.by_name()
        self.assertEqual(list(found), ["theta[1]", "theta[2]", "theta[3]"])
        for name, mean, sd in (("theta[1]", 1, 2), ("theta[2]", -2, math.sqrt(2)), ("theta[3]", 3, 1)):
            self.assertLess(abs(found[name]["mean"] - mean), .15 * sd)
            self.assertLess(abs(math.log(found[name]["sd"] / sd)), .15)
        # The log density is normalised: the ELBO of the exact posterior is 0.
        self.assertLess(abs(self.record()["elbo"]), .1)

    def test_results_are_on_the_users_scale(self):
        self.write("data.json", json.dumps({"location": .5, "spread": .3, "alpha": [8, 4, 4]}))
        self.succeeds("fit", self.library("constrained"), "--data", "data.json", "--out", "fit")
        found = self.by_name()
        self.assertEqual(list(found)[:4], ["sigma", "p[1]", "p[2]", "p[3]"])
        self.assertIn("Sigma[1,2]", found)
        self.assertAlmostEqual(sum(found[f"p[{k}]"]["mean"] for k in (1, 2, 3)), 1, places=9)
        self.assertLess(abs(found["p[1]"]["mean"] - .5), .05)
        self.assertGreater(found["sigma"]["q05"], 0)
        self.assertLess(abs(found["sigma"]["q50"] - math.exp(.5)), .1)

    def test_draws_for_other_programs(self):
        self.succeeds("fit", self.gaussian(), "--data", "data.json", "--generated-quantities", "--out", "fit")
        self.assertIn("replicate", self.by_name())
        self.fails(USAGE, "draws", "fit", "-n", 20, says=["--stan-model", "test_stan_gaussian.so"])
        model = ["--stan-model", self.gaussian()]
        self.succeeds("draws", "fit", "-n", 20, *model, "--log-density", "--out", "d.csv")
        rows = self.rows("d.csv")
        self.assertEqual(list(rows[0]), ["log_q", "log_p", "theta[1]", "theta[2]", "theta[3]", "replicate"])
        self.succeeds("draws", "fit", "-n", 20, *model, "--format", "cmdstan-csv", "--out", "c.csv")
        head = next(l for l in (self.folder / "c.csv").read_text().splitlines() if not l.startswith("#"))
        self.assertEqual(head, "lp__,log_p__,log_g__,theta.1,theta.2,theta.3,replicate")
        self.succeeds("draws", "fit", "-n", 20, *model, "--format", "netcdf", "--out", "d.nc")

    def test_a_start_file(self):
        library = self.gaussian()
        self.write("init.json", json.dumps({"theta": [1, 2, 3]}))
        self.succeeds("fit", library, "--data", "data.json", "--init", "init.json", "--out", "fit")

    def test_ctrl_c_stops_the_default_and_saves(self):
        self.write("data.json", json.dumps({"m": 3, "milliseconds": 1}))
        process = subprocess.Popen([PROGRAM, "fit", self.library("slow"), "--data", "data.json", "--out", "fit"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "gradient" not in process.stderr.readline():  # the fit is under way
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, NOT_TRUSTED, err)
        self.assertEqual(self.record()["stopped"], "interrupted")
        self.assertIn("interrupted", out)
        self.succeeds("draws", "fit", "-n", 3, "--stan-model", self.library("slow"))
        self.fails(USAGE, "fit", "--resume", "--out", "fit", says="is code")

    def test_refusals(self):
        library = self.gaussian()
        self.fails(IO, "fit", library, "--data", "nowhere.json", "--out", "fit", says="nowhere.json")
        self.fails(USAGE, "fit", library, "--data", "data.json", "--response", "y", "--standardise", "--out", "fit",
                   says=["--response", "--standardise"])
        self.fails(DATA, "fit", self.library("old"), "--data", "data.json", "--out", "fit", says="test_stan_old.so")
        self.fails(DATA, "fit", self.library("lacking"), "--data", "data.json", "--out", "fit", says="test_stan_lacking.so")
        self.fails(IO, "fit", "nowhere.so", "--out", "fit", says="nowhere.so")
        self.succeeds("fit", library, "--data", "data.json", "--out", "fit")
        self.fails(USAGE, "predict", "fit", "data.json", says="cannot predict")

    def test_parameters_without_a_constraint_have_the_gaussians_own_moments(self):
        self.succeeds("fit", self.gaussian(), "--data", "data.json", "--out", "fit")
        for parameter in self.record()["parameters"]:
            self.assertAlmostEqual(parameter["q50"], parameter["mean"], places=12)
            self.assertAlmostEqual(parameter["q95"] - parameter["mean"], 1.6448536269514722 * parameter["sd"], places=9)

    def stand_in(self, recipe):
        """A folder in BridgeStan's place whose make does as told."""
        (self.folder / "bridgestan/src").mkdir(parents=True)
        self.write("bridgestan/src/bridgestan.h", "")
        self.write("bridgestan/Makefile", "%_model.so : %.stan\n" + "".join(f"\t@{line}\n" for line in recipe))
        return {"BRIDGESTAN": str(self.folder / "bridgestan"), "XDG_CACHE_HOME": str(self.folder / "cache")}

    def test_the_compilers_message_keeps_its_lines(self):
        places = self.stand_in(["echo \"Syntax error in 'model.stan', line 2:\"", "echo '     2:  real x'", "echo '            ^'", "exit 1"])
        self.write("model.stan", "parameters {\n real x\n}\n")
        done = self.fails(DATA, "fit", "model.stan", "--out", "fit", env=places, says="'model.stan' does not compile")
        lines = done.stderr.splitlines()
        at = next(k for k, line in enumerate(lines) if line.startswith("Syntax error"))
        self.assertEqual(lines[at + 1:at + 3], ["     2:  real x", "            ^"])

    def test_data_errors_name_the_program(self):
        places = self.stand_in([f"cp '{self.library('gaussian')}' $@"])
        self.write("model.stan", "model {}\n")
        self.write("data.json", "{}")
        self.fails(DATA, "fit", "model.stan", "--data", "data.json", "--out", "fit", env=places,
                   says="'model.stan' does not accept the data")

    def test_broken_json_is_named_with_its_line(self):
        self.write("data.json", '{"mean": [1, 2],\n "covariance": [1,, 2]}\n')
        self.fails(DATA, "fit", self.library("gaussian"), "--data", "data.json", "--out", "fit", says=["'data.json', line 2", "JSON"])

    def test_a_program_that_fails_everywhere_is_not_trusted(self):
        self.write("data.json", json.dumps({"m": 3, "fault": "throw", "above": -1e9}))
        done = self.magva("fit", self.library("faulty"), "--data", "data.json", "--out", "fit")
        self.assertIn(done.returncode, (NOT_TRUSTED, DATA), done.stderr)
        self.assertIn("Scale parameter is 0", done.stderr)

    def test_a_program_that_fails_somewhere_says_how_often(self):
        self.write("data.json", json.dumps({"m": 3, "fault": "nan", "above": 1}))
        done = self.magva("fit", self.library("faulty"), "--data", "data.json", "--out", "fit")
        self.assertIn(done.returncode, (0, NOT_TRUSTED), done.stderr)
        self.assertIn("could not be evaluated", done.stderr)


@unittest.skipUnless(os.environ.get("BRIDGESTAN"), "BRIDGESTAN names no BridgeStan folder")
class Programs(Case):
    def test_real_programs(self):
        for program in sorted(PROGRAMS.glob("*.stan")):
            with self.subTest(program=program.stem):
                self.succeeds("fit", program, "--data", program.with_suffix(".json"), "--out", program.stem, codes=(0, NOT_TRUSTED),
                              timeout=280)
                self.assertIsNotNone(self.record(program.stem)["elbo"])

    def test_a_program_with_a_mistake(self):
        self.write("bad.stan", "parameters { real x }\n")
        self.fails(DATA, "fit", "bad.stan", "--out", "fit", says="bad.stan")


if __name__ == "__main__":
    unittest.main()
