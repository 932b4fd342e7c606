"""Kinds of input, one folder or file each: how raw inputs become numbers and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from regard.core.config import Choices, Part
from regard.core.errors import DataError, OptionError

if TYPE_CHECKING:
    from regard.data import TokenizerPart
    from regard.data.modalities.both import Modalities


class ModalityPart(Part):
    """Settings of a modality: how it is learned from training data, and found again in a run folder."""

    unit: ClassVar[str] = "tokens"  # of what a batch holds so many, and training reads so many a second
    example: ClassVar[str] = "input"  # what regard predict might be asked, as it is typed
    file: ClassVar[str]  # where a run folder holds what was learned

    @property
    def is_text(self) -> bool:
        """Whether a tokenizer has a part in it."""
        return False

    @property
    def mixes(self) -> bool:
        """Whether a training input is mixed with another, so that it has the answers of both."""
        return False

    def is_kept(self, folder: Path) -> bool:
        """Whether a run folder holds what was learned."""
        return (folder / self.file).is_file()

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        """Learned from the training split alone."""
        raise NotImplementedError

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        """As a run folder holds it."""
        raise NotImplementedError

    def continued(self, before: ModalityPart) -> ModalityPart:
        """The settings of a run that starts from another, which read by ``before``: those, but for what may differ and
        is said here."""
        return before

    def sized(self, size: int | tuple[int, ...]) -> ModalityPart:
        """The same for inputs of another size."""
        raise OptionError(f"input.kind = {self.kind!r} has no size; leave it out")

    def taken_over(self, theirs: Modalities) -> Modalities:
        """What another run learned, by these settings."""
        return theirs


def named_file(argument: str, one: str) -> Path:
    """A word of the command line as the path of a file; ``one`` is what it should be: picture."""
    path = Path(argument).expanduser()
    if not path.exists():
        raise DataError(f"there is no file {argument!r}; this run reads {one}s: give the path of one")
    if path.is_dir():
        raise DataError(f"{path} is a folder, but one {one} is expected; name the file")
    return path


def check_not_cut(inputs: str, max_length: int, keep: str, remedy: str = "") -> None:
    """Refuses settings that cut inputs which are never cut."""
    if max_length or keep != "start":
        raise OptionError(f"task.max_length and task.keep have no effect on {inputs}; leave them out{remedy}")


MODALITIES = Choices(
    "input",
    ModalityPart,
    "text",
    {
        "text": "regard.data.modalities.text.part:TextPart",
        "image": "regard.data.modalities.image.modality:ImagePart",
        "audio": "regard.data.modalities.audio.modality:AudioPart",
        "video": "regard.data.modalities.video.modality:VideoPart",
        "graph": "regard.data.modalities.graph.modality:GraphPart",
        "series": "regard.data.modalities.series.part:SeriesPart",
    },
)
