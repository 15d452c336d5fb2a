"""Tests of the code that puts figures into pages: python3 -m unittest discover -s bench (a part of ./dev tables)."""
import contextlib
import copy
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest
from unittest import mock

import page

HERE = pathlib.Path(__file__).resolve().parent
MADE = {"day": "2026-01-02", "processors": 2, "model": "Model", "virtual": True, "linux": "6.1.0", "system": "Debian 12", "beside": None}


def program(path):
    """A program of this folder as a module; it runs nothing unless it is the main program."""
    loader = importlib.machinery.SourceFileLoader(path.replace("/", "_"), str(HERE / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Markers(unittest.TestCase):
    def test_a_block_is_replaced_and_nothing_else(self):
        text = "before\n\n<!-- measured: one -->\nold\n<!-- end -->\n\nbetween\n<!-- measured: two -->\n<!-- end -->\nafter\n"
        wanted = text.replace("\nold\n", "\n| new \\1 |\n")
        self.assertEqual(page.replaced(text, "one", "| new \\1 |\n"), wanted)
        self.assertEqual(page.replaced(wanted, "two", "x"), wanted.replace("two -->\n", "two -->\nx\n"))

    def test_writing_again_changes_nothing(self):
        text = page.replaced("<!-- measured: one -->\n<!-- end -->", "one", "a\n\nb")
        self.assertEqual(page.replaced(text, "one", "a\n\nb"), text)

    def test_within_a_line(self):
        text = "it took <!-- measured: one -->2<!-- end --> times as long\n"
        self.assertEqual(page.replaced(text, "one", "3"), text.replace(">2<", ">3<"))
        with self.assertRaisesRegex(page.Wrong, "within a line"):
            page.replaced(text, "one", "a\nb")

    def test_there_is_one_place(self):
        one = "<!-- measured: one -->\nold\n<!-- end -->\n"
        for text in ("", "nothing", one + one, one.replace("one", "another")):
            with self.subTest(text), self.assertRaisesRegex(page.Wrong, "there must be one"):
                page.replaced(text, "one", "new")

    def test_a_forgotten_end_swallows_nothing(self):
        text = "<!-- measured: one -->\nold\n\n<!-- measured: two -->\nold\n<!-- end -->\n"
        with self.assertRaisesRegex(page.Wrong, "0 places for 'one'"):
            page.replaced(text, "one", "new")
        self.assertIn("\nnew\n", page.replaced(text, "two", "new"))

    def test_the_text_of_figures_may_hold_no_markers(self):
        with self.assertRaisesRegex(page.Wrong, "holds a marker"):
            page.replaced("<!-- measured: one -->\n<!-- end -->", "one", "<!-- end -->")

    def test_cells_cannot_break_a_table(self):
        self.assertEqual(page.table(["a", "b"], [[1, "x|y\nz"]]), "| a | b |\n| --- | --- |\n| 1 | x\\|y z |")

    def test_circumstances(self):
        made = page.circumstances()
        self.assertEqual(made.keys(), MADE.keys())
        self.assertEqual(page.on(MADE), "2 processors (Model, virtual machine), Linux 6.1.0, Debian 12; 2026-01-02")
        self.assertIn(f", {made['beside']}; {made['day']}", page.on(made))


class Keeping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "bench").mkdir()
        (self.root / "page.md").write_text("<!-- measured: one -->\nold\n<!-- end -->\n")
        for name, place in (("ROOT", self.root), ("KEPT", self.root / "bench/kept")):
            patch = mock.patch.object(page, name, place)
            patch.start()
            self.addCleanup(patch.stop)

    def test_figures_are_kept_and_shown(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            page.keep("it", {"figure": 7}, {"one": ("page.md", lambda figures: f"{figures['figure']} s")})
        self.assertEqual(said.getvalue(), "written: bench/kept/it.json, page.md\n")
        self.assertEqual(page.kept("it"), {"figure": 7})
        self.assertIn("\n7 s\n", (self.root / "page.md").read_text())

    def test_figures_that_cannot_be_shown_are_not_kept(self):
        with self.assertRaises(KeyError):
            page.keep("it", {}, {"one": ("page.md", lambda figures: f"{figures['figure']} s")})
        with self.assertRaisesRegex(page.Wrong, "it.json.*measure them"):
            page.kept("it")

    def test_a_page_without_the_place_is_named(self):
        with self.assertRaisesRegex(page.Wrong, "page.md: 0 places for 'two'"):
            page.write({}, {"two": ("page.md", lambda _: "")})


class Tables(unittest.TestCase):
    """bench/tables checks the pages against the kept figures; these tests use other figures."""

    def setUp(self):
        self.tables = program("tables")

    def changed(self, bench):
        """The text of each part, and a copy of the figures to change."""
        return self.tables.parts_of(bench), copy.deepcopy(page.kept(bench))

    def test_a_missed_goal_is_bold_and_counted(self):
        parts, figures = self.changed("cost")
        text = parts["cost"][1]
        goals = len(figures["work"])
        for work in figures["work"]:
            work["ratios"]["knee"] = [1.0, 0.9, 12.345]
        self.assertIn(f"Goals missed (bold): 0 of {goals}.", text(figures))
        self.assertNotIn("**", text(figures))
        self.assertIn("| 1.00 (0.90–12.3) |", text(figures))
        figures["work"][2]["ratios"]["knee"][0] = 1.5
        self.assertIn(f"Goals missed (bold): 1 of {goals}.", text(figures))
        self.assertIn("| **1.50** (0.90–12.3) |", text(figures))

    def test_the_printed_figures_of_a_large_recording_are_read(self):
        large = program("large")
        printed = """64 threads, 10083848 slices, 1000000 samples, 192 waits; 90 MB on disk
read: 2.33 s (2.30 s on a processor), 1148 MB
analysed: 7.00 s (2.98 s on a processor), 415 MB more (goal 5 s, 1000 MB)
answer as text: 0.00 s (0.00 s on a processor), 41 lines
page: 3.33 s (3.33 s on a processor), 0.62 MB (goal 15 MB); 1564 MB at most in all
file: lanes drawn after 667 (609 to 799) ms (goal 1000); zooming 51.9 (50.9 to 52.2) frames a second (goal 30), of 20 frames the slowest takes 50 (50 to 50) ms
knee view is ready after 7.9 s
knee view: lanes drawn after 676 (579 to 698) ms (goal 1000); zooming 21.9 (21.2 to 52.4) frames a second (goal 30), of 20 frames the slowest takes 50 (50 to 50) ms
"""
        text = large.table(large.figures(printed, MADE))
        for wanted in ("10,083,848 slices", "| 2.3 s, 1148 MB |", "| **7.0 s, 415 MB more** |", "| below 0.01 s |", "| 667 ms (609 to 799) |",
                       "| **21.9 frames a second (21.2 to 52.4)** |", "| 7.9 s |"):
            self.assertIn(wanted, text)
        for line in printed.splitlines():
            with self.subTest(line), self.assertRaisesRegex(page.Wrong, "no printed line matches"):
                large.figures(printed.replace(line, ""), MADE)

    def test_false_alarms_and_unsure_causes_are_counted(self):
        sweep = lambda real, found, estimate, reason: {"real": real, "found": found, "estimate": estimate, "reason": reason}
        shared = [sweep(2.0, ["false-sharing"], 4.0, None), sweep(1.1, [], None, "within the noise"), sweep(3.0, [], None, "within the noise")]
        apart = [sweep(None, ["true-sharing"], None, None), sweep(None, [], None, None)]
        row = lambda name, expected, sweeps: {"program": name, "compiler": "cc -g -pthread", "expected": expected, "sweeps": sweeps}
        results = [row("one", "false-sharing", shared), row("one-repaired", "", apart), row("table", "", apart)]
        text = self.tables.parts_of("sharing")["sharing"][1]({"made": MADE, "seed": 1, "threads": 2, "results": results})
        self.assertIn("| one | cc | false-sharing | 2.00 | 1 of 3 (2 unsure) | 2.00 (2.00 to 2.00) |", text)
        self.assertIn("| 1 repaired ones, table | the same | none |  | 2 false alarms in 4 |  |", text)
        words = " ".join(text.split())
        self.assertIn("found in 1 of 2 sweeps where the slowdown was at least 1.2; false alarms in 2 of 4; the estimate off by 2.00 (median), "
                      "within a factor of 1.5 in 0 of 1, at worst by 2.00.", words)

    def test_a_server_is_right_by_cause_and_place(self):
        run = program("servers/run")
        shop = {"source": "shop.go", "expected": ["user-lock"], "places": ["reserve"]}
        lock = lambda *sites: {"id": "user-lock", "culprit": {"function": "Lock", "file": "mutex.go", "line": 9, "callers": list(sites)}}
        site = lambda function, line: {"function": function, "file": "src/shop.go", "line": line}
        judged = lambda kind, *causes, unsure=(): run.judged(
            shop, kind, {("shop.go", 7)}, {"causes": list(causes), "unsure": [{"id": each} for each in unsure]}
        )
        only = lambda *ids: [{"id": each, "culprit": None} for each in ids]
        by_name, by_line, elsewhere = lock(site("main.(*shop).reserve", 4)), lock(site("main.func1", 7)), lock(site("main.reserved", 8))
        self.assertEqual(judged("guilty", by_name), (by_name, "main.(*shop).reserve (shop.go:4)", "right"))
        self.assertEqual(judged("guilty", *only("load", "cpu-pressure"), by_line), (by_line, "main.func1 (shop.go:7)", "right"))
        self.assertEqual(judged("guilty", elsewhere), (elsewhere, "Lock (mutex.go:9)", "**wrong** place"))
        self.assertEqual(judged("guilty", *only("load-limit"), by_name)[2], "**wrong**")
        self.assertEqual(judged("guilty", *only("none"), unsure=["user-lock"])[2], "open")
        self.assertEqual(judged("guilty", *only("none"))[2], "**wrong**")
        self.assertEqual([judged("clean", *only(*ids))[2] for ids in ([], ["none"], ["load-limit"], ["load", "cpu-pressure"])], ["right"] * 4)
        self.assertEqual(judged("clean", *only("load-limit"), by_name), (by_name, "Lock (mutex.go:9)", "**wrong**"))

    def test_the_problem_of_each_server_is_where_it_is_said_to_be(self):
        run = program("servers/run")
        for each in run.tomllib.loads((HERE / "servers/servers.toml").read_text())["program"]:
            source = HERE / "servers/programs" / each["source"]
            text = (source / "src/main.rs" if source.is_dir() else source).read_text()
            with self.subTest(each["source"]):
                # The interpreter's lock is held by a whole function.
                self.assertTrue(source.suffix == ".py" or run.guilty_lines(source))
                for place in each["places"]:
                    self.assertRegex(text, rf"\b{place}\(")

    def test_counts_of_intervals_are_read(self):
        intervals = program("intervals")
        lines = [f"{what}, {runs} runs: 10 of 200, 5.0 %" for what in ("losses", "claims of a loss", "bends", "changes") for runs in (3, 5, 10)]
        lines += [f"{what}, {runs} runs, {kind}: {wrong} of 100, {wrong}.0 %" for what in ("speed-up", "time") for runs in (3, 5, 10)
                  for kind, wrong in (("Normal", 1), ("Spikes", 3))]
        lines = ["test a ... ok", *(line for line in lines if not line.startswith("changes, 3")), "changes of a tenth: 7 of 8, at all three counts 9 of 10"]
        now = intervals.figures("\n".join(lines))
        self.assertEqual(now["counts"]["time"], {"3": [4, 200], "5": [4, 200], "10": [4, 200]})
        self.assertEqual((now["worst"], now["tenth"]), (0.05, [7, 8]))
        text = intervals.table({"now": now, "before": {**now, "tenth": [8, 8]}})
        self.assertIn("| the true time is outside | 200 each | 2.0 → 2.0 | 2.0 → 2.0 | 2.0 → 2.0 |", text)
        self.assertRegex(text, r"\| `knee diff` of the same says faster or slower \| 200 each \| – \| 5.0 → 5.0 \|")
        self.assertIn("finds 7 of 8 (8 before)", " ".join(text.split()))
        for gone in (lines[1], lines[-1]):
            with self.subTest(gone), self.assertRaisesRegex(page.Wrong, "the test printed no"):
                intervals.figures("\n".join(line for line in lines if line != gone))

    def test_bytes_a_thread(self):
        parts, figures = self.changed("soak")
        figures["runs"][1].update(recording_mib=100, threads=2**20)
        self.assertIn("| 100 MiB, 100 bytes a thread |", parts["soak"][1](figures))

    def test_a_fuzzer_without_numbers_is_an_error(self):
        fuzz = program("fuzz")
        self.assertEqual(fuzz.targets("meta\t12\t3\tnothing\n"), [{"target": "meta", "inputs": 12, "edges": 3, "found": "nothing"}])
        with self.assertRaisesRegex(page.Wrong, "no numbers for meta"):
            fuzz.targets("meta\t?\t3\tnothing\n")

    def test_a_marker_that_nothing_measures_is_named(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(self.tables, "pages", lambda: [pathlib.Path(folder) / "a.md"]):
            (pathlib.Path(folder) / "a.md").write_text("<!-- measured: no-such -->\n<!-- end -->\n")
            with mock.patch.object(self.tables.page, "ROOT", pathlib.Path(folder)):
                self.assertEqual(self.tables.stray({}), ["a.md: nothing measures 'no-such'"])


class Quotations(unittest.TestCase):
    """Which part of a command's output docs/cases/refresh puts into pages."""

    def test_a_part_of_an_output(self):
        refresh = program("../docs/cases/refresh")
        printed = "Answer.\n\nthreads  first\n      1  1.00 s\n\nSeen from: half\n"
        self.assertEqual(refresh.shown(printed, {}), printed.strip())
        self.assertEqual(refresh.shown(printed, {"from": "threads", "until": "Seen"}), "threads  first\n      1  1.00 s")
        with self.assertRaisesRegex(SystemExit, "no line begins with 'Nothing'"):
            refresh.shown(printed, {"until": "Nothing"})
        with mock.patch.object(refresh, "run", lambda command, _: f"ran {command}\nrest"):
            page_text = "<!-- run: knee it (until: rest) -->\nold\n<!-- end -->\n"
            quoted = refresh.BLOCK.sub(lambda found: refresh.quote(found[1], found["command"], found[3], None), page_text)
        self.assertEqual(quoted, "<!-- run: knee it (until: rest) -->\n```text\n$ knee it\nran knee it\n```\n<!-- end -->\n")


if __name__ == "__main__":
    unittest.main()
