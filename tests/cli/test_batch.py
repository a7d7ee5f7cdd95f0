"""Minibatches through the program: linear regression, where the answer is known from all rows."""
import unittest

from harness import SHORT, Case


class Batches(Case):
    def test_default_agrees_with_all_rows(self):
        self.number_table(n=4000)
        command = ["fit", "numbers.csv", "--response", "y", "--exclude", "count"]
        self.succeeds(*command, "--out", "all")
        self.succeeds(*command, "--batch", "200", "--out", "batch")
        whole, batch = self.record("all"), self.record("batch")
        self.assertEqual(whole["stopped"], "converged")
        self.assertEqual(batch["stopped"], "iteration limit")
        self.assertIn("all rows", batch["stop_detail"])
        self.assertEqual(batch["options"]["batch"], 200)
        figures = batch["details"]["batch"]
        self.assertEqual((figures["rows"], figures["batches_per_epoch"], figures["elbo_rows"]), (200, 20, 4000))
        self.assertAlmostEqual(figures["epochs"], batch["iterations"] / 20)
        # Both ELBOs are from all rows. 'converged' promises .1 nats; the batches' steps end within .02 sds.
        self.assertLess(abs(batch["elbo"] - whole["elbo"]), .1 + 4 * (batch["elbo_se"] + whole["elbo_se"]))
        for a, b in zip(batch["parameters"], whole["parameters"]):
            self.assertLess(abs(a["mean"] - b["mean"]), .05 * b["sd"], a["name"])
            self.assertAlmostEqual(a["sd"] / b["sd"], 1, delta=.05, msg=a["name"])

    def test_rule_counts_gradients_by_rows(self):
        self.number_table(n=4000)
        self.ends("numbers.csv", "--response", "y", "--batch", "400", "--rule", "adam", "--draws", "2", "--iterations", "500", "--out",
                  "fit")
        record = self.record()
        self.assertEqual(record["stopped"], "iteration limit")
        self.assertEqual(record["gradient_evaluations"], 100)  # 500 iterations of 2 draws on a tenth of the rows
        self.assertEqual(self.rows("fit/trace.csv")[-1]["gradient_evaluations"], "100")
        self.assertEqual(record["details"]["batch"]["epochs"], 50)

    def test_rows_do_not_depend_on_the_file_or_on_threads(self):
        self.number_table(n=1000)
        self.succeeds("convert", "numbers.csv", "--response", "y", "--out", "d.magva")
        folders = {"table": ["numbers.csv", "--response", "y"], "file": ["d.magva"], "threads": ["d.magva", "--threads", "2"]}
        for folder, words in folders.items():
            self.ends(*words, "--batch", "100", *SHORT, "--out", folder)
        bits = {f: (self.folder / f / "posterior.magva").read_bytes() for f in folders}
        self.assertEqual(bits["table"], bits["file"])
        self.assertEqual(bits["table"], bits["threads"])

    def test_a_batch_of_all_rows_is_the_default(self):
        self.number_table(n=100)
        self.succeeds("fit", "numbers.csv", "--response", "y", "--batch", "100", "--out", "batch")
        self.succeeds("fit", "numbers.csv", "--response", "y", "--out", "all")
        self.assertEqual(self.record("batch")["stopped"], "converged")
        self.assertEqual(self.record("batch")["elbo"], self.record("all")["elbo"])


if __name__ == "__main__":
    unittest.main()
