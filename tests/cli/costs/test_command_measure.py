"""``regard measure attention``: a table, a page and JSON, and what is refused."""

from __future__ import annotations

from pathlib import Path

from command import apart, regard

QUICK = ("--lengths", "32,64", "--heads", 2, "--width", 8)


def test_mechanisms_are_measured_beside_full_attention(tmp_path: Path) -> None:
    found = regard("measure", "attention", *QUICK, "--mechanisms", "window,linformer", "--set", "window.size=16",
                   "--out", tmp_path, "--json").json  # fmt: skip
    full, window, linformer = found["mechanisms"]
    assert [one["kind"] for one in (full, window, linformer)] == ["softmax", "window", "linformer"]
    assert window["settings"] == {"size": 16}
    assert full["error"] == {}
    for one in (full, window):
        for wanted in ("forward", "both", "step"):
            points = one["passes"][wanted]["points"]
            assert [point["length"] for point in points] == [32, 64]
            assert all(point["seconds"] > 0 for point in points)
            assert all(point["peak"] > 0 for point in points)
    # what a step remembers: every key and value of 2 heads and 64 more rooms, or the last 16 positions
    kept = [point["remembered"] for point in full["passes"]["step"]["points"]]
    assert kept == [(length + 64) * 2 * 8 * 2 * 4 for length in (32, 64)]
    assert not linformer["causal"]
    assert linformer["passes"]["step"]["stopped"] == "it cannot be causal, so it does not decode"
    assert set(window["faster_than_full"]) == {"forward", "both", "step"}
    page = (tmp_path / "attention.html").read_text(encoding="utf-8")
    assert found["page"] == str(tmp_path / "attention.html")
    assert page.count("<svg") == 7
    assert "linformer, one step of decoding: it cannot be causal" in page


def test_a_table_for_each_pass_and_nothing_else_on_standard_output() -> None:
    done = apart("measure", "attention", *QUICK, "--mechanisms", "linear", "--passes", "both,forward")
    lines = done.stdout.decode().splitlines()
    assert [line for line in lines if not line.startswith(("mechanism", "softmax", "linear"))] == [
        "Forward", "Forward and backward"
    ]  # fmt: skip
    assert done.stderr == b"", "the profiler writes about itself"
    assert lines[1].split()[:3] == ["mechanism", "32", "64"]


def test_little_time_ends_early_and_says_so() -> None:
    found = regard("measure", "attention", "--lengths", "256,65536", "--mechanisms", "top-k", "--passes", "forward",
                   "--seconds", 0.1, "--json").json  # fmt: skip
    for one in found["mechanisms"]:
        assert [point["length"] for point in one["passes"]["forward"]["points"]] == [256]
        assert "more than its share of --seconds" in one["passes"]["forward"]["stopped"]


def test_what_is_refused() -> None:
    def told(*options: object) -> str:
        return regard("measure", "attention", *QUICK, *options).error

    assert "unknown attention kind 'windw' (did you mean 'window'?)" in told("--mechanisms", "windw")
    assert "--passes 'back' is not known; choose forward, both, step" in told("--passes", "back")
    assert "--lengths takes distinct numbers, 1 or higher" in told("--lengths", "0,4")
    assert "--set top-k.keys=3: 'top-k' is not measured; measured are softmax, window" in told(
        "--mechanisms", "window", "--set", "top-k.keys=3"
    )
    assert "features: Input should be greater than or equal to 1, found 0" in told(
        "--mechanisms", "performer", "--set", "performer.features=0"
    )
