"""The option table seen from outside: flags, configuration files, help, completion, the manual page."""
import json
import re
import shutil
import subprocess
import unittest

from harness import DATA, IO, SHORT, USAGE, Case

COMMANDS = ["fit", "summary", "predict", "draws", "compare", "completion", "man"]


class Flags(Case):
    def test_misspelt_options_are_all_named(self):
        done = self.fails(USAGE, "fit", "data.csv", "--respnse", "y", "--itertions", 3, "--zzzzzz",
                          says=["--respnse (did you mean --response?)", "--itertions (did you mean --iterations?)", "--zzzzzz"])
        self.assertNotIn("--zzzzzz (did", done.stderr)

    def test_misspelt_with_equals_sign(self):
        self.fails(USAGE, "fit", "data.csv", "--sede=3", says="did you mean --seed?")

    def test_all_bad_values_at_once(self):
        self.fails(USAGE, "fit", "data.csv", "--rank", "many", "--prior", "norml", "--draws", 0, "--time-limit", -1,
                   says=["--rank is 'many'", "--prior is 'norml'", "'normal'", "--draws is '0'", "--time-limit is '-1'"])

    def test_twice_and_without_value(self):
        self.fails(USAGE, "fit", "data.csv", "--seed", 1, "--seed", 2, says="--seed was given more than once")
        self.fails(USAGE, "fit", "data.csv", "--seed", says="--seed needs a value")

    def test_misspelt_command(self):
        self.fails(USAGE, "fitt", says="'fit'")
        self.fails(USAGE, "frobnicate", says="summary")

    def test_one_argument_too_many(self):
        self.fails(USAGE, "summary", "a", "b", says="'b'")

    def test_no_command_shows_the_help(self):
        done = self.magva()
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("Commands:", done.stderr)


class ConfigFiles(Case):
    def setUp(self):
        super().setUp()
        self.logistic_table()

    def options_after(self, *words):
        self.succeeds("fit", "data.csv", *words, "--out", "fit")
        return self.record()["options"]

    def test_json_and_lines_and_an_earlier_fit(self):
        self.write("c.json", json.dumps({"response": "y", "rule": "adam", "iterations": 100, "prior_variance": 2.5,
                                         "standardise": True, "exclude": ["a", "b"]}))
        self.write("c.toml", 'response = "y"\nrule = "adam"\n# a comment\niterations = 100\nprior-variance = 2.5\n'
                             'standardise = true\nexclude = ["a", "b"]\n')
        one = self.options_after("--config", "c.json")
        self.assertEqual((one["iterations"], one["prior-variance"], one["standardise"], one["exclude"]), (100, 2.5, True, ["a", "b"]))
        self.assertEqual(self.options_after("--config", "c.toml"), one)
        shutil.copy(self.folder / "fit/fit.json", self.folder / "earlier.json")
        self.assertEqual(self.options_after("--config", "earlier.json"), one)

    def test_the_command_line_goes_first(self):
        self.write("c.json", json.dumps({"response": "y", "rule": "adam", "iterations": 100, "seed": 4}))
        after = self.options_after("--config", "c.json", "--seed", 9)
        self.assertEqual((after["seed"], after["iterations"]), (9, 100))

    def test_unknown_keys_name_the_nearest(self):
        for name, text in (("c.json", '{"respnse": "y", "rang": 3}'), ("c.ini", "respnse = y\nrang = 3\n")):
            self.write(name, text)
            self.fails(USAGE, "fit", "data.csv", "--config", name, says=[name, "'respnse'", "'response'", "'rang'", "'rank'"])

    def test_bad_files(self):
        self.fails(IO, "fit", "data.csv", "--config", "nowhere.json", says="nowhere.json")
        self.write("bad.json", '{"rank": ')
        self.fails(DATA, "fit", "data.csv", "--config", "bad.json", says="bad.json")
        self.write("large.json", '{"rank": 1e999}')
        self.fails(DATA, "fit", "data.csv", "--config", "large.json", says=["large.json", "too large"])
        self.write("nested.json", '{"rank": {"a": 1}}')
        self.fails(USAGE, "fit", "data.csv", "--config", "nested.json", says="rank")
        self.write("value.json", '{"rank": -3}')
        self.fails(USAGE, "fit", "data.csv", "--config", "value.json", says="--rank is '-3'")


class Help(Case):
    def help_of(self, *words):
        return self.succeeds(*words, "--help").stdout

    def test_on_all_levels_with_examples_and_exit_codes(self):
        top = self.help_of()
        for command in COMMANDS:
            self.assertRegex(top, rf"(?m)^  {command} ")
            text = self.help_of(command)
            self.assertIn(f"Usage: magva {command}", text)
            self.assertIn("Examples:", text)
            for code in ("0", "2", "3", "65", "70", "74", "130"):
                self.assertRegex(text, rf"(?m)^  {code} ")
        self.assertEqual(self.succeeds("help", "fit").stdout, self.help_of("fit"))

    def test_version(self):
        self.assertRegex(self.succeeds("--version").stdout, r"^magva \d+\.\d+\.\d+\n$")

    def options_of(self, command):
        return set(re.findall(r"--([a-z][a-z-]+)", " ".join(
            line[:26] if not line.startswith("  --") else line.split("  ")[1]
            for line in self.help_of(command).split("Examples:")[0].splitlines() if line.startswith("  "))))

    def test_fit_has_the_options_of_the_documentation(self):
        wanted = {"response", "model", "prior", "prior-variance", "covariate", "basis", "weights", "standardise", "discretise",
                  "missing", "approximation", "rank", "rule", "iterations", "draws", "antithetic", "estimator", "seed", "threads", "time-limit",
                  "config", "resume", "quiet", "init", "out"}
        self.assertLessEqual(wanted, self.options_of("fit"))

    def test_completion_and_manual_know_every_option(self):
        bash = self.succeeds("completion", "bash").stdout
        zsh = self.succeeds("completion", "zsh").stdout
        manual = self.succeeds("man").stdout.replace("\\-", "-")
        for command in COMMANDS:
            self.assertIn(f"    {command})", bash)
            for option in self.options_of(command):
                for text in (bash, zsh, manual):
                    self.assertIn(f"--{option}", text)
        self.fails(USAGE, "completion", "tcsh", says="bash or zsh")

    def test_bash_completes(self):
        self.write("c.bash", self.succeeds("completion", "bash").stdout)
        subprocess.run(["bash", "-n", self.folder / "c.bash"], check=True)
        for words, position, wanted in ((["magva", "su"], 1, ["summary"]), (["magva", "fit", "--respo"], 2, ["--response"]),
                                        (["magva", "fit", "--prior", "h"], 3, ["horseshoe"])):
            script = (f"source c.bash; COMP_WORDS=({' '.join(words)}); COMP_CWORD={position}; _magva; "
                      "printf '%s\\n' \"${COMPREPLY[@]}\"")
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.split(), wanted)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_parses(self):
        self.write("c.zsh", self.succeeds("completion", "zsh").stdout)
        subprocess.run(["zsh", "-n", self.folder / "c.zsh"], check=True)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_manual_renders_without_complaint(self):
        page = self.succeeds("man").stdout
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
        for part in ("EXIT STATUS", "--prior-variance V", "SYNOPSIS"):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
