"""The program as the ranks of an MPI job, and what --device cuda says on a machine without a GPU."""
import gzip
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

from harness import DATA, IO, PROGRAM, USAGE, Case

PLUGIN = pathlib.Path(PROGRAM).resolve().parent / "libmagva_mpi.so"
ALGORITHM1 = ["--rule", "adadelta-stable", "--rank", "2"]


class Cut(Case):
    def cut(self, name, count):
        """part-0.csv, ..., each with the header."""
        header, *rows = (self.folder / name).read_text().splitlines(keepends=True)
        for k in range(count):
            part = rows[len(rows) * k // count:len(rows) * (k + 1) // count]
            self.write(f"part-{k}.csv", header + "".join(part))


@unittest.skipUnless(PLUGIN.exists() and shutil.which("mpirun"), "built without MPI")
class Ranks(Cut):
    def setUp(self):
        super().setUp()
        self.logistic_table(n=400)
        self.number_table(n=300)

    def command(self, count, *words):
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(count)]
        return [*launcher, PROGRAM, *map(str, words)]

    def ranks(self, count, *words, codes=(0,)):
        done = subprocess.run(self.command(count, *words), cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env=self.environment({"OMPI_MCA_mpi_yield_when_idle": "1"}))
        self.assertIn(done.returncode, codes, done.stdout + done.stderr)
        return done

    def test_as_many_ranks_as_one_likes(self):
        tasks = {"logistic": ["data.csv", "--response", "y"], "linear": ["numbers.csv", "--response", "y"],
                 "poisson": ["numbers.csv", "--response", "count", "--prior", "horseshoe", *ALGORITHM1, "--iterations", 300]}
        for name, task in tasks.items():
            with self.subTest(name):
                self.succeeds("fit", *task, "--out", "one", codes=(0, 3))
                one = self.record("one")
                for count in (2, 4):
                    done = self.ranks(count, "fit", *task, "--out", "many", codes=(0, 3))
                    self.assertEqual(done.stdout.count("written to"), 1)
                    many = self.record("many")
                    self.assertAlmostEqual(many["elbo"] / one["elbo"], 1, delta=1e-10)
                    self.assertEqual(many["stopped"], one["stopped"])
                    for a, b in zip(many["parameters"], one["parameters"]):
                        self.assertAlmostEqual(a["mean"], b["mean"], delta=1e-7 * b["sd"])
                        self.assertAlmostEqual(a["sd"] / b["sd"], 1, delta=1e-7)
                    self.assertIn(f"spread over {count} ranks", done.stderr + done.stdout)

    def test_repeats_its_bits(self):
        for out in ("a", "b"):
            self.ranks(2, "fit", "data.csv", "--response", "y", *ALGORITHM1, "--iterations", 200, "--out", out, codes=(0, 3))
        self.assertEqual((self.folder / "a/posterior.magva").read_bytes(), (self.folder / "b/posterior.magva").read_bytes())

    def test_draws_have_the_bits_of_any_number_of_ranks(self):
        tasks = {"logistic": ["data.csv", "--response", "y", *ALGORITHM1, "--iterations", 200],
                 "poisson": ["numbers.csv", "--response", "count", *ALGORITHM1, "--iterations", 200],
                 "minibatches": ["data.csv", "--response", "y", "--batch", "50", *ALGORITHM1, "--iterations", 100]}
        for name, task in tasks.items():
            with self.subTest(name):
                self.ranks(1, "fit", *task, "--out", "one", codes=(0, 3))
                for count in (2, 3, 4):
                    self.ranks(count, "fit", *task, "--out", "many", codes=(0, 3))
                    self.assertEqual((self.folder / "many/posterior.magva").read_bytes(),
                                     (self.folder / "one/posterior.magva").read_bytes())

    def test_parts_of_which_the_leader_has_its_own_rows_alone(self):
        """More than 2^24 values, with levels that only some parts have."""
        names = ",".join(f"x{j}" for j in range(9))
        for k in range(4):
            lines = [f"{i % 2},s{(i + k) % (5 + k)},{(i * 37 + k) % 1000 / 8},{','.join(f'{i * i % 999_999_937:09}')}\n" for i in range(250_000)]
            self.write(f"part-{k}.csv", f"y,site,x,{names}\n" + "".join(lines))
        words = ["fit", "part-*.csv", "--response", "y", *ALGORITHM1, "--iterations", 5]
        self.ranks(1, *words, "--out", "one", codes=(0, 3))
        for count in (2, 4):
            self.ranks(count, *words, "--out", "many", codes=(0, 3))
            self.assertEqual((self.folder / "many/posterior.magva").read_bytes(), (self.folder / "one/posterior.magva").read_bytes())
            self.assertEqual(self.record("many")["data"], self.record("one")["data"])

    def write_uneven_parts(self):
        """Missing cells in two parts, one of which has no row left; a level that only one part has; a column that
        equals another; parts of different lengths."""
        generator = random.Random(3)
        for k, count in enumerate((120, 60, 20, 90)):
            lines = []
            for i in range(count):
                a = generator.gauss(0, 1)
                site = "rare" if k == 1 and i % 20 == 3 else "north" if i % 3 else "east"
                b = "NA" if k == 2 or (k == 3 and i % 9 == 0) else f"{3 + generator.gauss(0, 1):.6f}"
                lines.append(f"{'yes' if a + generator.gauss(0, 1) > 0 else 'no'},{i % 4},{a:.6f},{a:.6f},{b},{site}\n")
            self.write(f"part-{k}.csv", "y,count,a,twin,b,site\n" + "".join(lines))
        rows = "".join("".join((self.folder / f"part-{k}.csv").read_text().splitlines(keepends=True)[1:]) for k in range(4))
        self.write("whole.csv", "y,count,a,twin,b,site\n" + rows)

    def test_encodings_are_learned_over_all_ranks(self):
        self.write_uneven_parts()
        tasks = {"columns": ["--response", "y"], "standardised": ["--response", "y", "--standardise"],
                 "bins": ["--response", "y", "--discretise", "mdlp"],
                 "counts": ["--response", "count", "--exclude", "y"],
                 "formula": ["--formula", "y ~ scale(b)*site + poly(a, 2)"], "smooth": ["--formula", "y ~ s(b) + site", "--approximation", "full-rank"],
                 "P-spline": ["--response", "a", "--model", "pspline", "--covariate", "b"]}
        for name, task in tasks.items():
            with self.subTest(name):
                task = [*task, "--missing", "drop"]
                exact = name != "P-spline"  # which is fitted with draws: they may end a step earlier or later
                self.succeeds("fit", "whole.csv", *task, "--out", "one", codes=(0, 3))
                one = self.record("one")
                for files in ("part-*.csv", "whole.csv"):
                    for count in (2, 4):
                        self.ranks(count, "fit", files, *task, "--out", "many", codes=(0, 3))
                        many = self.record("many")
                        self.assertEqual((self.folder / "many/model.json").read_text(), (self.folder / "one/model.json").read_text())
                        self.assertAlmostEqual(many["elbo"] / one["elbo"], 1, delta=1e-10 if exact else 1e-5)
                        self.assertEqual([p["name"] for p in many["parameters"]], [p["name"] for p in one["parameters"]])
                        self.assertEqual(many["data"]["rows"], one["data"]["rows"])
                        self.assertEqual(many.get("check") is None, one.get("check") is None)
                        for a, b in zip(many["parameters"], one["parameters"]):
                            if exact:
                                self.assertAlmostEqual(a["mean"], b["mean"], delta=1e-7 * b["sd"])
                                self.assertAlmostEqual(a["sd"] / b["sd"], 1, delta=1e-7)

    def test_bits_of_parts_and_of_a_file(self):
        self.write_uneven_parts()
        for task in (["--response", "y"], ["--formula", "y ~ a*site + poly(b, 2)"]):
            words = [*task, "--missing", "drop", *ALGORITHM1, "--iterations", 100]
            self.ranks(1, "fit", "whole.csv", *words, "--out", "one", codes=(0, 3))
            for files in ("part-*.csv", "whole.csv"):
                for count in (2, 4):
                    self.ranks(count, "fit", files, *words, "--out", "many", codes=(0, 3))
                    self.assertEqual((self.folder / "many/posterior.magva").read_bytes(),
                                     (self.folder / "one/posterior.magva").read_bytes())

    def test_a_design_that_the_leader_saves_has_all_rows(self):
        self.write_uneven_parts()
        words = ["--response", "y", "--missing", "drop"]
        self.succeeds("fit", "part-*.csv", *words, "--save-design", "one.magva", "--out", "one", codes=(0, 3))
        self.ranks(4, "fit", "part-*.csv", *words, "--save-design", "many.magva", "--out", "many", codes=(0, 3))
        self.assertEqual((self.folder / "many.magva").read_bytes(), (self.folder / "one.magva").read_bytes())

    def test_a_fault_in_the_rows_of_one_rank_is_one_sentence(self):
        self.write_uneven_parts()
        clean = (self.folder / "part-2.csv").read_text()
        faults = {"no,1,0.5,0.5,typing error,east": ["part-2.csv, line 22, column 'b'", "typing error"],
                  "no,1,0.5": ["part-2.csv, line 22", "3 fields"], 'no,1,0.5,0.5,1,"east': ["part-2.csv, line 22", "quote"]}
        for line, parts in faults.items():
            self.write("part-2.csv", clean + line + "\n")
            for task in (["--response", "y"], ["--formula", "y ~ a + b"]):
                for count in (2, 4):
                    done = self.ranks(count, "fit", "part-*.csv", *task, "--missing", "drop", "--out", "fit", codes=(DATA,))
                    lines = [said for said in done.stderr.splitlines() if said.startswith("magva: ")]
                    self.assertEqual(len(lines), 1, done.stderr)
                    for part in parts:
                        self.assertIn(part, lines[0])
                    self.assertFalse((self.folder / "fit").exists())
        self.write("part-2.csv", clean)
        done = self.ranks(4, "fit", "part-*.csv", "--response", "y", "--out", "fit", codes=(DATA,))
        self.assertIn("part-2.csv, line 2, column 'b'", done.stderr)

    def test_design_files(self):
        self.succeeds("convert", "data.csv", "--response", "y", "--out", "data.magva")
        self.succeeds("fit", "data.magva", "--out", "one")
        self.ranks(2, "fit", "data.magva", "--out", "many")
        self.assertAlmostEqual(self.record("many")["elbo"] / self.record("one")["elbo"], 1, delta=1e-10)

    def test_formulas_and_minibatches(self):
        tasks = {"negative binomial": ["numbers.csv", "--formula", "count ~ x", "--family", "negbinomial"],
                 "Student-t": ["numbers.csv", "--formula", "y ~ x", "--family", "student_t"],
                 "probit": ["data.csv", "--formula", "y ~ .", "--family", "bernoulli", "--link", "probit"],
                 "minibatches": ["data.csv", "--response", "y", "--batch", "50", "--iterations", "50"]}
        # A fit with draws may end a step earlier or later where rounding differs.
        delta = {"Student-t": 1e-5, "minibatches": 1e-7}
        for name, task in tasks.items():
            with self.subTest(name):
                self.succeeds("fit", *task, "--out", "one", codes=(0, 3))
                self.ranks(2, "fit", *task, "--out", "two", codes=(0, 3))
                self.assertAlmostEqual(self.record("two")["elbo"] / self.record("one")["elbo"], 1, delta=delta.get(name, 1e-10))

    def test_parts(self):
        self.cut("data.csv", 3)
        self.succeeds("fit", "data.csv", "--response", "y", "--out", "one")
        self.succeeds("fit", "part-*.csv", "--response", "y", "--out", "parts")
        self.assertEqual((self.folder / "parts/posterior.magva").read_bytes(), (self.folder / "one/posterior.magva").read_bytes())
        self.succeeds("convert", "part-*.csv", "--response", "y", "--out", "whole.magva")
        for k in range(3):
            self.succeeds("convert", f"part-{k}.csv", "--like", "whole.magva", "--out", f"part-{k}.magva")
        self.succeeds("fit", "part-*.magva", "--out", "designs")
        self.assertEqual((self.folder / "designs/posterior.magva").read_bytes(), (self.folder / "one/posterior.magva").read_bytes())
        for files in ("part-*.csv", "part-*.magva"):
            for count in (2, 4):
                self.ranks(count, "fit", files, *(["--response", "y"] if "csv" in files else []), "--out", "many")
                self.assertAlmostEqual(self.record("many")["elbo"] / self.record("one")["elbo"], 1, delta=1e-10)

    def test_an_error_is_one_sentence(self):
        for code, words, part in ((USAGE, ["--response", "y", "--iterations", "0"], "--iterations"), (DATA, ["--response", "nothing"], "nothing"),
                                  (USAGE, ["--formula", "y ~ a + (1 | colour)"], "one linear predictor")):
            done = self.ranks(2, "fit", "data.csv", *words, "--out", "fit", codes=(code,))
            lines = [line for line in done.stderr.splitlines() if line.startswith("magva: ")]
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertIn(part, lines[0])
            self.assertFalse((self.folder / "fit").exists())

    def test_a_killed_rank_ends_the_job_and_resume_goes_on_to_the_same_bits_with_any_number(self):
        words = ["--response", "y", *ALGORITHM1, "--iterations", 4000, "--checkpoint", "0.02"]
        self.ranks(2, "fit", "data.csv", *words, "--out", "whole", codes=(0, 3))
        generator = random.Random(1)
        for victim, count in ((0, 2), (1, 1), (1, 3)):
            out = f"killed {victim} {count}"
            job = subprocess.Popen(self.command(2, "fit", "data.csv", *words, "--out", out), cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=self.environment({"OMPI_MCA_mpi_yield_when_idle": "1"}))
            self.addCleanup(job.kill)
            while not (self.folder / out / "checkpoint.magva").exists() and job.poll() is None:
                time.sleep(.002)
            time.sleep(.05 * generator.random())
            children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True).stdout.split()
            if len(children) > victim:
                os.kill(int(children[victim]), signal.SIGKILL)
            job.communicate(timeout=20)
            if (self.folder / out / "checkpoint.magva").exists():
                self.ranks(count, "fit", "--resume", "--out", out, codes=(0, 3))
            self.assertEqual((self.folder / out / "posterior.magva").read_bytes(), (self.folder / "whole/posterior.magva").read_bytes())


class Parts(Cut):
    def test_what_is_wrong_with_them(self):
        self.logistic_table(n=60)
        self.fails(IO, "fit", "nothing-*.csv", "--response", "y", "--out", "fit", says="nothing-*.csv")
        self.fails(USAGE, "fit", "data*.csv", "--response", "y", says="--out")
        self.cut("data.csv", 2)
        text = (self.folder / "part-1.csv").read_text()
        (self.folder / "part-1.csv").write_text("z" + text)
        self.fails(DATA, "fit", "part-*.csv", "--response", "y", "--out", "fit", says=["part-1.csv", "header"])
        for k, name in enumerate(("part-0.csv", "data.csv")):
            self.succeeds("convert", name, "--response", "y", "--standardise", "--out", f"other-{k}.magva")
        self.fails(DATA, "fit", "other-*.magva", "--out", "fit", says=["other-1.magva", "--like"])

    def test_gzipped_and_without_a_last_line_end(self):
        self.logistic_table(n=60)
        self.cut("data.csv", 3)
        first, last = self.folder / "part-0.csv", self.folder / "part-1.csv"
        last.write_text(last.read_text().rstrip("\n"))
        (self.folder / "part-0.csv.gz").write_bytes(gzip.compress(first.read_bytes()))
        first.unlink()
        self.succeeds("fit", "data.csv", "--response", "y", "--out", "one")
        self.succeeds("fit", "part-*", "--response", "y", "--out", "parts")
        self.assertEqual((self.folder / "parts/posterior.magva").read_bytes(), (self.folder / "one/posterior.magva").read_bytes())


class Device(Case):
    def test_says_what_is_missing(self):
        self.logistic_table()
        self.fails(USAGE, "fit", "data.csv", "--response", "y", "--device", "cuda", "--out", "fit", says=["--device cuda"],
                   env={"MAGVA_CUDA_PLUGIN": "/nowhere/libmagva_cuda.so"})
        self.assertFalse((self.folder / "fit").exists())
        self.fails(USAGE, "fit", "data.csv", "--response", "y", "--device", "tpu", says=["--device", "cuda"])

    def test_for_regressions_alone(self):
        self.number_table()
        self.fails(USAGE, "fit", "numbers.csv", "--response", "y", "--model", "pspline", "--covariate", "x", "--device", "cuda", says="regression")
        self.fails(USAGE, "fit", "numbers.csv", "--formula", "y ~ x + (1 | count)", "--device", "cuda", "--out", "fit", says="one linear predictor")
        self.fails(USAGE, "fit", "numbers.csv", "--formula", "count ~ x", "--family", "ordered", "--device", "cuda", "--out", "fit", says="one linear predictor")


if __name__ == "__main__":
    unittest.main()
