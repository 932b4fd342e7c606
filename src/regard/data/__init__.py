"""From the world to batches: readers, tokenizers, ledger, bucketing, small worlds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from regard.core.config import Choices, Part
from regard.core.errors import DataError

if TYPE_CHECKING:
    from regard.core.symbols import Specials
    from regard.data.corpus import Corpus
    from regard.data.ledger import Ledger
    from regard.data.modalities.text.grey_levels import GreyLevels
    from regard.data.modalities.text.tokenizers import Tokenizer

MOST_MADE = 10_000_000
"""Examples that a generated split may have; more take hours to make, and memory that few machines have."""


class DataPart(Part):
    """Settings from which a corpus is made. Law: the same seed gives the same corpus."""

    files_kind: ClassVar[str] = ""  # the kind that reads such examples from files; "": nobody has said

    @property
    def grey(self) -> GreyLevels | None:
        """How its texts are pictures of grey values, where they are."""
        return None

    def load(self, seed: int, ledger: Ledger) -> Corpus[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not say how its corpus is made: give it load()")

    def located(self, folder: Path, given: Collection[str] = ()) -> Self:
        """The same with paths that mean the same from everywhere: relative ones count from ``folder``, those under the
        keys ``given`` on the command line ("train", "train.source") from the current folder."""
        return self

    def table_for(self, files: Sequence[str]) -> dict[str, Any]:
        """A table [data] by which files of such examples are read as the split ``test``, with the same columns where
        this one reads files, too. The kind is missing where nobody has said it."""
        return {"kind": self.files_kind, "test": list(files)} if self.files_kind else {"test": list(files)}

    def load_test(self, split: str, ledger: Ledger) -> Corpus[Any]:
        """The examples of ``test`` alone, under another name; there need be nothing to train on."""
        raise DataError(f"data kind {self.kind!r} reads no files; choose one that does, as in --set data.kind=pairs")


DATA = Choices(
    "data",
    DataPart,
    "small-world",
    {
        "small-world": "regard.data.sources.world:SmallWorld",
        "pairs": "regard.data.sources.pairs:PairFiles",
        "toy": "regard.data.sources.toys:Toy",
        "trees": "regard.data.sources.treebanks:TreeFiles",
        "world-trees": "regard.data.sources.treebanks:WorldTrees",
        "text": "regard.data.sources.text_files:TextFiles",
        "text-table": "regard.data.sources.text_tables:TextTables",
        "python-english": "regard.data.sources.text_files:PythonEnglish",
        "python-code": "regard.data.sources.text_files:PythonCode",
        "world-english": "regard.data.sources.text_files:WorldEnglish",
        "grey-digits": "regard.data.sources.grey_digits:GreyDigits",
        "labelled": "regard.data.sources.labelled:LabelledFiles",
        "pictures": "regard.data.sources.pictures:PictureFiles",
        "sounds": "regard.data.sources.sounds:SoundFiles",
        "speech": "regard.data.sources.sounds:SpeechFiles",
        "videos": "regard.data.sources.videos:VideoFiles",
        "moving-shapes": "regard.data.sources.videos:MovingShapesData",
        "keypad": "regard.data.sources.keypad:Keypad",
        "series": "regard.data.sources.series:SeriesFiles",
        "labelled-series": "regard.data.sources.series:LabelledSeriesFiles",
        "waves": "regard.data.sources.waves:Waves",
        "wave-shapes": "regard.data.sources.waves:WaveShapes",
        "world-moods": "regard.data.sources.labelled:WorldMoods",
        "tagged": "regard.data.sources.tagged:TaggedFiles",
        "world-tags": "regard.data.sources.tagged:WorldTags",
        "movie-reviews": "regard.data.sources.labelled:MovieReviews",
        "questions": "regard.data.sources.questions:QuestionFiles",
        "world-questions": "regard.data.sources.questions:WorldQuestions",
        "graphs": "regard.data.sources.graphs.labelled:GraphFiles",
        "graph-nodes": "regard.data.sources.graphs.nodes:NodeFiles",
        "graph-links": "regard.data.sources.graphs.links:LinkFiles",
    },
)

class TokenizerPart(Part):
    """Settings of any tokenizer: ``joint`` says that source and target share one."""

    numbers_alike: ClassVar[bool] = False  # whether a number means the same piece on both sides, even of two of them

    joint: bool = True

    def train(self, texts: Iterable[str]) -> Tokenizer:
        raise NotImplementedError

    def of_side(self, side: int) -> TokenizerPart:
        """The one of the source (0) or of the target (1)."""
        return self

    def specials(self) -> Specials | None:
        """Where its special symbols stand; None: where ours do."""
        return None

    @property
    def mask_symbol(self) -> str:
        """How a hidden word is written."""
        return "[MASK]"

    @property
    def pair_dropout(self) -> float:
        """How many merges are left out when training pairs are cut; 0: texts are always cut the same way."""
        return 0.0


TOKENIZERS = Choices(
    "tokenizer",
    TokenizerPart,
    "bpe",
    {
        "bpe": "regard.data.modalities.text.tokenizers:BpeTokenizer",
        "word": "regard.data.modalities.text.tokenizers:WordTokenizer",
        "whitespace": "regard.data.modalities.text.whitespace:WhitespaceTokenizer",
        "character": "regard.data.modalities.text.tokenizers:CharacterTokenizer",
        "byte": "regard.data.modalities.text.tokenizers:ByteTokenizer",
        "code": "regard.data.modalities.text.tokenizers:CodeTokenizer",
        "per-side": "regard.data.modalities.text.per_side:PerSideTokenizers",
        "wordpiece": "regard.data.modalities.text.word_pieces:WordPieceTokenizer",
        "imported": "regard.data.modalities.text.tokenizers:ImportedTokenizer",
    },
)
