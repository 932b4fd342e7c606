"""Files that end in .ts: series with a class each."""

from __future__ import annotations

from typing import Any

from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.files.graph_files import counted
from regard.data.discovery.found import Discovery, Hints, LengthSummary, SeriesFacts, numbered
from regard.data.discovery.given import TRAIN, GivenFiles, SplitFiles, ending
from regard.data.discovery.measuring import Counted
from regard.data.discovery.tally import Findings, Seen, Tally
from regard.data.ledger import Ledger
from regard.data.modalities.series.ts_files import read_ts

ENDING = ".ts"


class LabelledSeriesFiles(Discoverer):
    """Series with classes, as the UCR and UEA archives keep them."""

    what = "series with classes, in .ts files"
    tasks: tuple[str, ...] = ("classification",)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        return bool(given.files) and all(ending(path) == ENDING for path in given.files)

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        files = SplitFiles.of(given, given.files)
        tallies: dict[str, Tally] = {split: Tally() for split in files.by_name()}
        series: list[Any] = []
        observations = []
        for split, own in files.by_name().items():
            for path in own:
                check_text(path)
                ledger = Ledger()
                found = read_ts(path, split, ledger)
                for one in found:
                    tallies[split].add(Seen(one.source, one.label, (one.label,), str(one.key())))
                tallies[split].skipped.update(counted(ledger))
                series += [one.raw for one in found] if split == TRAIN else []
                observations.append(f"{path.name}: {numbered(len(found), 'series', 'series')} for {split}")

        def measure(name: str, tally: Tally, repeats: Counted) -> SeriesFacts:
            return SeriesFacts(name, tally.examples, series[0].channels, LengthSummary.of([len(one) for one in series]))

        entries = {split: [str(path) for path in own] for split, own in files.by_name().items()}
        findings = Findings(
            "classification", {"kind": "labelled-series"}, files, entries, tallies, files.train[0].name, "", "series",
            measure, observations=[*observations, *given.ignored_files()],
            reasons=[f"{files.train[0].name} has series, and a class at the end of each line"],
        )  # fmt: skip
        return findings.discovery()
