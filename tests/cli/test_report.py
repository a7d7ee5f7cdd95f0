"""The page about a user's own fit."""
import unittest

from harness import IO, SHORT, Case
from test_reproduce import GNUPLOT, Page


class Report(Case):
    def page(self, name="fit/report.html"):
        text = (self.folder / name).read_text()
        page = Page(text)
        self.assertEqual(page.open, [])
        self.assertNotIn("<script", text)
        self.assertTrue(all(link.startswith("data:") for link in page.links))
        return page

    def test_logistic(self):
        self.logistic_table()
        self.succeeds("fit", "data.csv", "--response", "y", "--out", "fit", codes=(0, 3))
        done = self.succeeds("report", "fit")
        self.assertEqual(done.stdout.strip(), "fit/report.html")
        page = self.page()
        record = self.record()
        self.assertIn(f"{record['elbo']:.2f}", page.text)
        self.assertIn(record["stop_detail"], page.text)
        for warning in record["warnings"]:
            self.assertIn(warning, page.text)
        largest = max(record["parameters"], key=lambda p: abs(p["mean"]) / p["sd"])
        self.assertIn(largest["name"], page.text)
        self.assertRegex(page.text, r"data.csv: 120 rows, mean log score -0\.\d+, \d+\.\d\d % of the likelier classes wrong")
        if GNUPLOT:
            self.assertGreaterEqual(len(page.images), 3)
            numbers = (self.folder / "fit/report-figures/intervals.dat").read_text()
            self.assertIn(f"{largest['q50']:.8g}", numbers)

    def test_numbers_and_data_that_moved(self):
        self.number_table()
        self.succeeds("fit", "numbers.csv", "--response", "y", "--exclude", "count", *SHORT, "--out", "fit", codes=(0, 3))
        self.succeeds("report", "fit", "--out", "page.html", "--top", 2)
        self.assertIn("90 % intervals", self.page("page.html").text)
        (self.folder / "numbers.csv").rename(self.folder / "moved.csv")
        self.succeeds("report", "fit")
        self.assertIn("--data-file", self.page().text)
        self.succeeds("report", "fit", "--data-file", "moved.csv")
        self.assertIn("root mean squared error", self.page().text)
        self.number_table("moved.csv", seed=9)
        self.succeeds("report", "fit", "--data-file", "moved.csv")
        self.assertIn("has changed since the fit", self.page().text)

    def test_no_fit(self):
        self.fails(IO, "report", "nothing", says="nothing")


if __name__ == "__main__":
    unittest.main()
