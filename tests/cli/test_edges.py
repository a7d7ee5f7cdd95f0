"""Names that are commands elsewhere, options that contradict each other, and claims that cannot be true."""
import random
import unittest

from harness import DATA, NOT_TRUSTED, SHORT, USAGE, Case


class Names(Case):
    NAMES = ["a%s", "b`touch pwned`", "q'@x_{2}", "\x1b[31mred\x1b]0;title\x07", "\u009b2J"]

    def setUp(self):
        super().setUp()
        generator = random.Random(1)
        quoted = ['"' + name.replace('"', '""') + '"' for name in self.NAMES]
        lines = [",".join([*quoted, "y"])]
        for _ in range(60):
            lines.append(",".join(f"{generator.gauss(0, 1):.3f}" for _ in range(len(self.NAMES) + 1)))
        self.write("names.csv", "\n".join(lines) + "\n")
        self.fitted = self.succeeds("fit", "names.csv", "--response", "y", "--out", "fit", codes=(0, NOT_TRUSTED))

    def test_nothing_moves_the_cursor(self):
        shown = self.fitted.stderr + self.succeeds("summary", "fit").stdout + self.succeeds("compare", "fit", "fit").stdout
        self.assertEqual([c for c in shown if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160], [])
        self.assertIn(r"\x1b[31mred", shown)
        wrong = self.fails(DATA, "fit", "names.csv", "--response", "\x1b[2J", "--out", "other")
        self.assertNotIn("\x1b", wrong.stderr)

    def test_figures_show_names_as_text(self):
        self.succeeds("report", "fit")
        self.assertFalse((self.folder / "fit/report-figures/pwned").exists())
        script = (self.folder / "fit/report-figures/figures.gp").read_text()
        self.assertIn("'a%%s'", script)
        self.assertNotIn("\x1b", script)
        for picture in (self.folder / "fit/report-figures").glob("*.svg"):
            drawn = picture.read_text()
            if "touch pwned" in drawn:
                self.assertIn("a%s<", drawn)
                break
        else:
            self.assertFalse(list((self.folder / "fit/report-figures").glob("*.svg")), "the names are drawn nowhere")


class Contradictions(Case):
    def setUp(self):
        super().setUp()
        self.number_table()

    def test_options(self):
        words = ["fit", "numbers.csv", "--response", "y"]
        for form in ("full-rank", "mean-field"):
            self.fails(USAGE, *words, "--approximation", form, "--rank", 2, says=["--rank", form])
            self.fails(USAGE, *words, "--rule", "adam", "--approximation", form, "--rank", 2, says=["--rank", form])
        self.fails(USAGE, *words, "--rule", "adam", "--starts", 2, says=["--starts", "--rule"])
        self.fails(USAGE, *words, "--rule", "adam", "--evaluations", 100, says=["--evaluations", "--rule"])

    def test_few_parameters_with_a_rule(self):
        self.succeeds("fit", "numbers.csv", "--response", "count", "--column", "x", "--rule", "adam", "--iterations", 50, "--out",
                      "fit", codes=(0, NOT_TRUSTED))
        self.assertEqual(self.record()["rank"], 2)

    def test_compare_refuses_two_scales(self):
        self.succeeds("fit", "numbers.csv", "--response", "y", "--out", "raw", codes=(0, NOT_TRUSTED))
        self.succeeds("fit", "numbers.csv", "--response", "y", "--standardise", "--out", "standard", codes=(0, NOT_TRUSTED))
        self.fails(DATA, "compare", "raw", "standard", says=["standard", "units"])

    def test_counts_that_are_all_zero_have_one_mode(self):
        rows = (self.folder / "numbers.csv").read_text().splitlines()
        self.write("zeros.csv", "\n".join([rows[0]] + [row.rsplit(",", 1)[0] + ",0" for row in rows[1:]]) + "\n")
        for more in ([], ["--prior-variance", 1000]):
            done = self.succeeds("fit", "zeros.csv", "--response", "count", "--exclude", "y", "--model", "poisson", *more, "--out", "fit",
                                 codes=(0, NOT_TRUSTED))
            self.assertNotIn("several modes", done.stderr)


if __name__ == "__main__":
    unittest.main()
