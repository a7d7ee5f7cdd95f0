"""No output destroys what the user has; outputs go through links, into pipes and to standard output."""
import os
import pathlib
import stat
import subprocess
import threading
import unittest

from harness import IO, PROGRAM, SHORT, USAGE, Case


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.data = self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "fit", codes=(0, 3))

    def keeps(self, file, *words, says=(), code=USAGE):
        """The command is refused, and the file keeps its bytes."""
        before = (self.folder / file).read_bytes()
        self.fails(code, *words, says=says)
        self.assertEqual((self.folder / file).read_bytes(), before, words)

    def test_never_a_file_that_is_read(self):
        same = "read in the same run"
        os.link(self.data, self.folder / "other-name.csv")
        (self.folder / "link.csv").symlink_to("data.csv")
        for name in ("data.csv", "other-name.csv", "link.csv", str(self.data)):
            for force in ([], ["--force"]):
                self.keeps("data.csv", "convert", "data.csv", "--response", "y", "--out", name, *force, says=same)
                self.keeps("data.csv", "predict", "fit", "data.csv", "--out", name, *force, says=same)
                self.keeps("data.csv", "predict", "fit", "data.csv", "--scores", name, *force, says=[same, "--scores"])
                self.keeps("data.csv", "draws", "fit", "--out", name, *force, says=same)
                self.keeps("data.csv", "report", "fit", "--out", name, *force, says=same)
                self.keeps("data.csv", "fit", "data.csv", "--response", "y", "--save-design", name, *force,
                           says=[same, "--save-design"])

    def test_never_a_file_of_a_fit(self):
        for name in ("fit.json", "trace.csv", "posterior.magva", "model.json"):
            self.keeps(f"fit/{name}", "draws", "fit", "--out", f"fit/{name}", "--force", says="a file of the fit")
            self.keeps(f"fit/{name}", "predict", "fit", "data.csv", "--out", f"fit/../fit/{name}", says="a file of the fit")
        self.fails(USAGE, "draws", "fit", "--out", "fit/checkpoint.magva", says="a file of the fit")
        self.succeeds("draws", "fit", "-n", 3, "--out", "fit/draws.csv")

    def test_never_two_outputs_in_one_file(self):
        self.fails(USAGE, "predict", "fit", "data.csv", "--out", "p.csv", "--scores", "./p.csv", says="another option")

    def test_an_existing_file_of_another_kind_needs_force(self):
        commands = {"d.csv": ["draws", "fit", "-n", 3], "c.csv": ["draws", "fit", "-n", 3, "--format", "cmdstan-csv"],
                    "d.nc": ["draws", "fit", "-n", 3, "--format", "netcdf"], "p.csv": ["predict", "fit", "data.csv"],
                    "r.html": ["report", "fit"], "x.magva": ["convert", "data.csv", "--response", "y"]}
        for name, words in commands.items():
            self.write(name, "my notes\n")
            self.keeps(name, *words, "--out", name, says=["exists", "--force"])
            self.succeeds(*words, "--out", name, "--force")
            first = (self.folder / name).read_bytes()
            self.assertNotEqual(first, b"my notes\n")
            self.succeeds(*words, "--out", name)  # an earlier output of its own kind
        for other in ("p.csv", "x.magva"):
            self.keeps(other, "draws", "fit", "-n", 3, "--out", other, says="--force")
        self.write("empty.csv", "")
        self.succeeds("draws", "fit", "-n", 3, "--out", "empty.csv")

    def test_links_are_followed_and_modes_kept(self):
        (self.folder / "store").mkdir()
        (self.folder / "link.csv").symlink_to("store/target.csv")
        for _ in range(2):  # a link to nothing, then to an earlier output
            self.succeeds("draws", "fit", "-n", 3, "--out", "link.csv")
            self.assertTrue((self.folder / "link.csv").is_symlink())
            self.assertEqual(len(self.rows("store/target.csv")), 3)
            (self.folder / "store/target.csv").chmod(0o600)
        self.assertEqual(stat.S_IMODE((self.folder / "store/target.csv").stat().st_mode), 0o600)
        self.assertEqual([p.name for p in (self.folder / "store").iterdir()], ["target.csv"])

    def test_pipes_and_devices_are_written_into(self):
        for words in (["draws", "fit", "-n", 3], ["draws", "fit", "-n", 3, "--format", "netcdf"],
                      ["convert", "data.csv", "--response", "y"]):
            pipe = self.folder / "pipe"
            os.mkfifo(pipe)
            got = []
            reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
            reader.start()
            self.succeeds(*words, "--out", "pipe")
            reader.join(60)
            self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))
            self.succeeds(*words, "--out", "file")
            if "netcdf" not in words:  # which has the time in it
                self.assertEqual(got[0], (self.folder / "file").read_bytes())
            pipe.unlink()
            (self.folder / "file").unlink()
        self.succeeds("draws", "fit", "--out", "/dev/null")
        self.assertTrue(stat.S_ISCHR(pathlib.Path("/dev/null").stat().st_mode))

    def test_a_dash_is_standard_output(self):
        plain = self.succeeds("draws", "fit", "-n", 3).stdout
        self.assertEqual(self.succeeds("draws", "fit", "-n", 3, "--out", "-").stdout, plain)
        self.assertEqual(self.succeeds("draws", "fit", "-n", 3, "--out", "/dev/stdout").stdout, plain)
        with open(self.folder / "kept.txt", "w") as file:
            file.write("first\n")
            file.flush()
            subprocess.run([PROGRAM, "draws", "fit", "-n", "3", "--out", "/dev/stdout"], cwd=self.folder, stdout=file, check=True)
        self.assertEqual((self.folder / "kept.txt").read_text(), "first\n" + plain)
        netcdf = self.succeeds("draws", "fit", "-n", 3, "--format", "netcdf", "--out", "-", text=False).stdout
        self.assertTrue(netcdf.startswith(b"\x89HDF"))
        predictions = self.succeeds("predict", "fit", "data.csv", "--out", "-", "--scores", "-").stdout
        self.assertIn('"log_score"', predictions)
        self.assertFalse((self.folder / "-").exists())

    def test_report_does_not_follow_planted_links(self):
        self.write("precious.txt", "precious")
        (self.folder / "fit/report.html").symlink_to("../precious.txt")
        self.keeps("precious.txt", "report", "fit", says="report.html")
        (self.folder / "fit/report.html").unlink()
        (self.folder / "fit/report-figures").mkdir()
        for name in ("trace.svg", "trace.dat", "figures.gp"):
            (self.folder / "fit/report-figures" / name).symlink_to("../../precious.txt")
        self.succeeds("report", "fit")
        self.assertEqual((self.folder / "precious.txt").read_text(), "precious")

    def test_an_unwritable_report_folder(self):
        self.write("blocked-figures", "a file where a folder is needed")
        self.fails(IO, "report", "fit", "--out", "blocked.html", says="blocked-figures")


class Pipes(Case):
    def test_convert_reads_a_pipe_once(self):
        self.logistic_table()
        self.succeeds("convert", "data.csv", "--response", "y", "--out", "whole.magva")
        whole = (self.folder / "whole.magva").read_bytes()
        command = f"{PROGRAM} convert <(cat data.csv) --response y --out piped.magva"
        subprocess.run(["bash", "-c", command], cwd=self.folder, check=True, timeout=60, capture_output=True)
        os.mkfifo(self.folder / "fifo")
        threading.Thread(target=lambda: (self.folder / "fifo").write_bytes((self.folder / "data.csv").read_bytes())).start()
        self.succeeds("convert", "fifo", "--response", "y", "--out", "fifo.magva")
        self.succeeds("convert", "-", "--response", "y", "--out", "stdin.magva", stdin=(self.folder / "data.csv").read_text())
        for name in ("piped.magva", "fifo.magva", "stdin.magva"):
            self.succeeds("fit", name, *SHORT, "--out", name + ".fit", codes=(0, 3))
            self.assertEqual(self.rows(name + ".fit/trace.csv")[-1]["elbo"], self.trace_of_whole()[-1]["elbo"])
            self.assertEqual(len((self.folder / name).read_bytes()) // 4096, len(whole) // 4096)

    def trace_of_whole(self):
        if not (self.folder / "whole.fit").exists():
            self.succeeds("fit", "whole.magva", *SHORT, "--out", "whole.fit", codes=(0, 3))
        return self.rows("whole.fit/trace.csv")


class Streams(Case):
    """Full or closed standard streams: an exit code, never a signal."""

    def run_with(self, words, **streams):
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, timeout=120, **streams)
        self.assertGreaterEqual(done.returncode, 0, f"{words}: killed by signal {-done.returncode}")
        return done.returncode

    def test_full(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", *SHORT, "--out", "fit", codes=(0, 3))
        with open("/dev/full", "w") as full:
            quiet = {"stdout": subprocess.DEVNULL}
            self.assertEqual(self.run_with(["fit", "nothing.csv"], stderr=full), IO)
            self.assertIn(self.run_with(["fit", "data.csv", "--response", "y", *SHORT, "--out", "again"], stderr=full, **quiet), (0, 3))
            self.assertTrue((self.folder / "again/posterior.magva").exists())
            for words in (["summary", "fit"], ["draws", "fit"], ["predict", "fit", "data.csv"], ["--help"], ["man"]):
                self.assertEqual(self.run_with(words, stdout=full, stderr=subprocess.DEVNULL), IO, words)
                self.assertEqual(self.run_with(words, stdout=full, stderr=full), IO, words)

    def test_closed(self):
        self.logistic_table()
        for redirect in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            for words in ("fit data.csv --response y --rule adam --iterations 50 --out fit", "summary fit", "draws fit", "fit nothing.csv"):
                done = subprocess.run(["bash", "-c", f"{PROGRAM} {words} {redirect}"], cwd=self.folder, capture_output=True, timeout=120)
                self.assertIn(done.returncode, (0, 3, IO), (words, redirect))
            self.succeeds("summary", "fit")

    def test_two_dashes(self):
        self.logistic_table()
        self.succeeds("fit", "--response", "y", *SHORT, "--out", "fit", "--", "data.csv", codes=(0, 3))
        self.fails(IO, "fit", "---", "--response", "y", says="---")


if __name__ == "__main__":
    unittest.main()
