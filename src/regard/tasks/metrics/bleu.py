"""BLEU and chrF by sacreBLEU, with signature, confidence interval and a paired test of two systems."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from regard.core.config import nearest
from regard.core.errors import DataError, OptionError, enumerate_problems

FEWEST_SAMPLES = 40  # 2.5 % at either end is one sample in forty
SIGNIFICANT = 0.05

References = Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class BleuScore:
    """A corpus score that sacreBLEU gave, from 0 to 100, with its 95 % interval (None if not asked for)."""

    score: float
    low: float | None
    high: float | None
    signature: str

    def figures(self, name: str) -> dict[str, float]:
        """``{name, name_low, name_high}``, without the interval where there is none."""
        found = {name: self.score, f"{name}_low": self.low, f"{name}_high": self.high}
        return {key: value for key, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same references; the difference is the second's score less the first's."""

    metric: str
    score_a: float
    score_b: float
    difference: float
    p_value: float
    signature: str
    less_is_better: bool = False

    def lower_is_better(self) -> Comparison:
        """The same of a figure of which less is better, such as an error."""
        return replace(self, less_is_better=True)

    @property
    def significant(self) -> bool:
        return self.p_value < SIGNIFICANT

    @property
    def sentence(self) -> str:
        outcome = self.outcome("system A", "system B")
        return outcome[0].upper() + outcome[1:]

    def outcome(self, a: str, b: str) -> str:
        """The outcome in words, under these names."""
        if self.difference == 0:
            return f"Both systems score {self.score_a:.2f} {self.metric}: there is no difference to test."
        more = self.difference > 0
        better, worse = (b, a) if more != self.less_is_better else (a, b)
        ahead, behind = (self.score_b, self.score_a) if better == b else (self.score_a, self.score_b)
        verdict = "is significant" if self.significant else "may well be chance"
        digits = 4 if self.less_is_better else 2
        return (
            f"{better} scores {abs(self.difference):.{digits}f} {self.metric} "
            f"{'less' if self.less_is_better else 'more'} than {worse} "
            f"({ahead:.{digits}f} against {behind:.{digits}f}); the difference {verdict} "
            f"(p = {self.p_value:.3f}, paired bootstrap, level {SIGNIFICANT})."
        )


def bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    confidence: bool = True,
    samples: int = 1000,
    seed: int = 12345,
) -> BleuScore:
    """Corpus BLEU (Papineni et al. 2002) on untouched references.

    Several references come as sacreBLEU takes them: one list for each set of references, each as long as the
    hypotheses. Text that is tokenised already wants ``tokenize="none"``.
    """
    return _score(_bleu_metric(tokenize, lowercase), hypotheses, references, confidence, samples, seed)


class _Chrf(CHRF):
    """sacreBLEU's own, whose interval fails where some resamples score 0: Python's and numpy's numbers mix there."""

    def _compute_score_from_stats(self, stats: Any) -> Any:
        found = super()._compute_score_from_stats(stats)
        found.score = float(found.score)
        return found


def chrf(
    hypotheses: Sequence[str],
    references: References,
    *,
    word_order: int = 0,
    lowercase: bool = False,
    confidence: bool = True,
    samples: int = 1000,
    seed: int = 12345,
) -> BleuScore:
    """Corpus chrF2 (Popović 2015); ``word_order=2`` makes it chrF2++. References as in ``bleu``."""
    metric = _Chrf(word_order=word_order, lowercase=lowercase)
    return _score(metric, hypotheses, references, confidence, samples, seed)


def paired_significance(
    system_a: Sequence[str],
    system_b: Sequence[str],
    references: References,
    *,
    metric: str = "bleu",
    tokenize: str = "13a",
    lowercase: bool = False,
    samples: int = 1000,
    seed: int = 12345,
) -> Comparison:
    """Whether two systems differ by more than chance: paired bootstrap resampling (Koehn 2004)."""
    _check_resampling(samples, seed)
    makers = {
        "bleu": lambda: _bleu_metric(tokenize, lowercase),
        "chrf": lambda: _Chrf(lowercase=lowercase),
    }
    if metric not in makers:
        raise OptionError(f"unknown metric {metric!r}{nearest(metric, makers)}; known: {', '.join(makers)}")
    streams = _streams({"system A": system_a, "system B": system_b}, references)
    with _seeded(seed):
        test = PairedTest(
            [("A", system_a), ("B", system_b)], {metric: makers[metric]()}, streams, "bs", n_samples=samples
        )
        signatures, found = test()
    name = next(iter(signatures))
    columns: dict[str, Any] = dict(found)  # a column holds names or results, so its type says nothing
    result_a, result_b = columns[name]
    difference = float(result_b.score - result_a.score)
    # sacreBLEU counts resamples beyond the observed difference; between equal systems none is, and the
    # smallest p-value of all would come out.
    p_value = float(result_b.p_value) if difference else 1.0
    return Comparison(
        name, float(result_a.score), float(result_b.score), difference, p_value, str(signatures[name])
    )


def _bleu_metric(tokenize: str, lowercase: bool) -> BLEU:
    if tokenize not in BLEU.TOKENIZERS:
        known = ", ".join(BLEU.TOKENIZERS)
        raise OptionError(
            f"unknown BLEU tokenizer {tokenize!r}{nearest(tokenize, BLEU.TOKENIZERS)}; known: {known}"
        )
    # Without force, sacreBLEU warns of text that looks tokenised, which is what "none" is for.
    try:
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")
    except (RuntimeError, ImportError) as error:  # its word for packages that it would like to have
        language = tokenize.partition("-")[0]
        raise OptionError(
            f"the BLEU tokenizer {tokenize!r} needs more than is installed: pip install 'sacrebleu[{language}]'"
        ) from error


def check_bleu_tokenizer(tokenize: str) -> None:
    """Before anything long is begun that would end in a score."""
    _bleu_metric(tokenize, lowercase=False)


def _score(
    metric: Any, hypotheses: Sequence[str], references: References, confidence: bool, samples: int, seed: int
) -> BleuScore:
    streams = _streams({"the hypotheses": hypotheses}, references)
    if not confidence:
        found = metric.corpus_score(hypotheses, streams)
        return BleuScore(float(found.score), None, None, str(metric.get_signature()))
    _check_resampling(samples, seed)
    with _seeded(seed):
        found = metric.corpus_score(hypotheses, streams, n_bootstrap=samples)
    # sacreBLEU prints its interval as "mean ± half-width" but gives the two no public name.
    low, high = max(found._mean - found._ci, 0.0), min(found._mean + found._ci, 100.0)
    return BleuScore(float(found.score), float(low), float(high), str(metric.get_signature()))


def _streams(systems: dict[str, Sequence[str]], references: References) -> list[Sequence[str]]:
    """The references as a list of sets, after checking that everything is of one length."""
    streams = [references] if references and isinstance(references[0], str) else list(references)
    expected = len(next(iter(systems.values())))
    if expected == 0 or not streams:
        raise DataError("there is nothing to score: hypotheses and references must not be empty")
    sized = {**systems, **{f"reference set {i}": stream for i, stream in enumerate(streams, start=1)}}
    lengths = {name: len(lines) for name, lines in sized.items()}
    if len(set(lengths.values())) > 1:
        counts = [f"{name} has {length} lines" for name, length in lengths.items()]
        raise DataError(enumerate_problems("lines do not pair up, every list must be as long", counts))
    return streams  # type: ignore[return-value]


def _check_resampling(samples: int, seed: int) -> None:
    if samples < FEWEST_SAMPLES:
        raise OptionError(f"samples is {samples}, but a 95 % interval needs at least {FEWEST_SAMPLES}")
    if seed < 1:
        raise OptionError(f"seed is {seed}, but sacreBLEU takes 0 for 'no seed': give a positive one")


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """sacreBLEU takes its seed from the environment only."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
