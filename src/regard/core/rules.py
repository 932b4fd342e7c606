"""The rules by which defaults and automatic recipes are decided: pure functions of sizes, amounts of data and time.

Each says what it was measured on. Nothing else in the house chooses a number for a user.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# -- the shape of a model ------------------------------------------------------------------------------------------


def heads(width: int) -> int:
    """Heads of 64 numbers, as Vaswani et al. (2017) have them; narrow models have four at least, of 16 or more."""
    most = max(1, min(4, width // 16), width // 64)
    return next(count for count in range(most, 0, -1) if width % count == 0)


def hidden_width(width: int) -> int:
    """A feed-forward network four times as wide as its model (Vaswani et al. 2017, section 3.3)."""
    return 4 * width


def gated_hidden_width(width: int) -> int:
    """A gated one has three matrices for two: 8/3 of the width has as many weights (Shazeer 2020), in eighths."""
    return max(8, round(8 * width / 3 / 8) * 8)


# -- the course of training ----------------------------------------------------------------------------------------


def adam_rate(width: int) -> float:
    """1e-3 for a model 128 wide, less with the root of the width, as in the schedule of Vaswani et al. (2017)."""
    return round(1e-3 * min(1.0, (128 / width) ** 0.5), 6)


def muon_rate(width: int) -> float:
    """Steps of one size for every width (Liu et al. 2025): 3e-3 to 4e-3 were best for models 128 to 384 wide."""
    return 4e-3 if width <= 256 else round(4e-3 * (256 / width) ** 0.5, 6)


def batch_tokens(examples: int, positions: int) -> int:
    """2,048 tokens or 64 pictures, fewer where an epoch would have less than 50 steps, 8 examples at the least."""
    if positions <= examples:  # whole pictures
        return max(8, min(64, examples // 50))
    each = -(-positions // max(1, examples))
    return max(8 * each, min(2048, positions // 50))


def steps(examples: int, positions: int, batch: int) -> int:
    """Thirty epochs, but no more than what two cores do in some half an hour: 20 million tokens, 600,000 pictures."""
    most = 600_000 if positions <= examples else 20_000_000
    return max(300, min(30 * positions, most) // batch)


def warmup(steps: int) -> int:
    """A twentieth of training, 400 steps at most: with small steps of clipped gradients more is lost time."""
    return max(1, min(400, steps // 20))


def paper_warmup(steps: int) -> int:
    """The 4,000 of 100,000 steps of Vaswani et al. (2017), a tenth of a shorter training."""
    return max(1, min(4000, steps // 10))


VALIDATIONS = 10
"""Points of a curve."""


def validate_every(steps: int, validations: int = VALIDATIONS) -> int:
    """Steps between validations."""
    return max(1, steps // validations)


def validations_in(seconds: float, cost: float) -> int:
    """How often a training of so many seconds validates, at that cost each: a tenth of the time at the most is for it,
    two points of a curve at the least."""
    return max(2, min(VALIDATIONS, int(0.1 * seconds / max(cost, 1e-9))))


USUAL_DROPOUT = 0.1
"""Where nothing is known of the data (Vaswani et al. 2017, section 5.4)."""


def dropout(epochs: float, parameters: int, positions: int) -> float:
    """The more a model could learn by heart (parameters for each position of an epoch) and the more often it sees it,
    the more is dropped; what is seen once needs none.

    Good points: 0.375 for 2.5M parameters and 0.45M positions seen 33 times (captions), 0.15 for 3.2M and 1M seen 7
    times (Shakespeare, characters), 0.1 for 1.4M and 1M seen 10 times (pronunciations).
    """
    if epochs <= 1:
        return 0.0
    room = math.log2(1 + parameters / max(1, positions))
    return round(min(0.4, 0.12 * room * min(1.0, math.log2(epochs) / 3)), 2)


# -- what an automatic recipe chooses ------------------------------------------------------------------------------

LADDER = ((2, 64), (2, 128), (3, 128), (4, 192), (4, 256), (6, 256), (6, 384), (8, 512))
"""Layers and widths of encoder–decoders and language models, from small to large."""
ENCODER_LADDER = ((1, 64), (1, 128), (2, 128), (3, 192), (4, 256), (6, 384))
"""Of encoders with a head, for which less is enough."""
PICTURE_LADDER = ((2, 64), (2, 128), (4, 128), (4, 192), (6, 256))
"""Of Vision Transformers behind a convolutional stem."""

SOUND_LADDER = ((2, 64), (3, 64), (4, 128), (6, 192))
"""Of encoders of sounds behind a convolutional stem."""
SERIES_LADDER = ((2, 32), (3, 64), (4, 128))
"""Of encoders that forecast; the recipe ``electricity`` has the second."""
GRAPH_LADDER = ((2, 32), (3, 32), (4, 64), (6, 128))
"""Of encoders of graphs; the recipes ``mutag`` and ``solubility`` have the second and the third."""

EPOCHS_OF_PAIRS = 40.0
EPOCHS_OF_EMBEDDINGS = 20.0
EPOCHS_OF_QUESTIONS = 20.0
EPOCHS_OF_SOUNDS = 60.0
EPOCHS_OF_SERIES = 100.0
EPOCHS_OF_FORECASTS = 5.0  # of windows that begin at every step and overlap
EPOCHS_OF_GRAPHS = 80.0
EPOCHS_OF_TAGS = 60.0
EPOCHS_OF_TEXT = 12.0
EPOCHS_OF_PICTURES = 30.0

POSITIONS_OF_A_PICTURE = 12
"""As how many positions a picture counts where the size of a model is chosen, since its patches are much alike: 28 × 28
pixels of clothing, ten minutes of one thread: 2 layers of 128 in four epochs were better than 4 of 192 in two."""

POSITIONS_OF_A_TOKEN = 4
"""The same for a token of a running text, each of which is predicted: speeches, ten minutes of one thread: 4 layers of
256 were better than 3 of 128."""

SMALLEST = 350_000  # parameters
CHARACTERS_ALONE = 3_000_000  # a shorter text is read character by character
LONGEST_READING = 512


def epochs_of_labels(examples: int) -> float:
    """30 for a few hundred labelled texts, 4 for tens of thousands: a text is known by heart long before."""
    return max(4.0, min(30.0, 80_000 / max(1, examples)))


def positions_wanted(parameters: int) -> int:
    """How many positions a model must see for its size to pay: two for each parameter of its layers.

    Pronunciations, in the same time: a model that saw three for each was better than a smaller one that saw 30.
    """
    return 2 * parameters


def is_too_large(parameters: int, positions: float) -> bool:
    """Whether a larger model would only learn the data by heart: more than two parameters a position of an epoch, and
    more than two layers of 128, which 1,200 tagged addresses still gained from."""
    return parameters > max(SMALLEST, 2 * positions)


def batch_of(examples: int, positions: float) -> int:
    """Positions of 32 examples of so many positions each, fewer where an epoch would have less than 20 steps: what the
    recipes ``solubility`` and ``vowels`` have, where each example is small."""
    return max(1, round(max(8, min(32, examples // 20)) * max(1.0, positions)))


def batch_of_pairs(words: int, examples: int) -> int:
    """Tokens of 128 pairs, fewer where an epoch would have less than 20 steps, 16 at the least."""
    return max(16, min(128, examples // 20)) * (words + 3)


def mel_bins(rate: int) -> int:
    """Bands of pitch: 40, as for speech, and fewer where a sound has so few pitches that some band would hear none."""
    return 40 if rate >= 8000 else 20 if rate >= 2000 else 8


FRAMES_A_SLICE = 4  # of 10 milliseconds, which a model reads as one position


def hearing(seconds: float) -> float:
    """Seconds that are read of a sound: all but of the longest 5 %, ten at the most, in halves."""
    return max(0.5, min(10.0, math.ceil(2 * seconds) / 2))


def steps_a_patch(steps: int) -> int:
    """Steps of a series with a class that are one position: one up to 128 steps, more where it is longer."""
    return max(1, -(-steps // 128))


class ForecastLengths(NamedTuple):
    """Steps that are read, that are forecast, and that are one position."""

    context: int
    horizon: int
    patch: int


def forecast_lengths(steps: int, season: int) -> ForecastLengths:
    """A season ahead, from seven of them where they are days of hours and four where they are shorter (``electricity``
    and ``pm25``: 24 from 168); no more than a quarter of what there is to learn from."""
    unit = max(1, min(season or 12, 48, steps // 20))
    seasons = max(1, min(7 if unit >= 24 else 4, steps // 4 // unit - 1))
    patch = next(size for size in range(min(24, unit), 0, -1) if unit % size == 0)
    return ForecastLengths(seasons * unit, unit, patch)


def window(words: int, vocabulary: int) -> int:
    """Tokens of a question and its context that are read at once: all but of the longest 5 %, 64 to 384."""
    return max(64, min(384, reading_length(words, 0, vocabulary)))


def answer_length(words: int) -> int:
    """Tokens of the longest answer, by the words of all but 1 %."""
    return max(8, min(64, 2 * words + 2))


def rarest_word(words: int, distinct: int) -> int:
    """How often a word of a treebank must be there to be known: once where words recur ten times on the average, as in
    the small world, else twice."""
    return 1 if words >= 10 * distinct else 2


def picture_side(pixels: int) -> int:
    """Rows and columns that are read of a picture: its own up to 64, then halved until they are that few."""
    side = max(8, pixels)
    while side > 64:
        side = -(-side // 2)
    return -(-side // 4) * 4


def stem(side: int, width: int) -> tuple[list[int], list[int]]:
    """Channels and strides of convolutions that leave some 49 to 64 positions of a picture."""
    channels, strides = [max(8, width // 4)], [1]
    while side > 8:
        side = -(-side // 2)
        channels.append(width // 2 if len(channels) == 1 and side > 8 else width)
        strides.append(2)
    return channels, strides


def vocabulary(characters: int) -> int:
    """A piece for every 400 characters, 300 to 16,000."""
    return max(300, min(16_000, 100 * round(characters / 40_000)))


def vocabulary_of_running_text(characters: int) -> int:
    """A piece for every 2,500 characters, 1,200 to 16,000: every position is compared with all pieces, which costs a
    small model more than its layers. Speeches of 11M characters, in ten minutes of one thread: 4,000 were better."""
    return max(1200, min(16_000, 100 * round(characters / 250_000)))


def tokenizer_kind(words: int, distinct_words: int, word_length: float) -> str:
    """Of one side of a pair, by the words of all but its longest 5 % of texts: letters for single words, whole symbols
    where few short ones make up all texts (phonemes, notes), else byte pairs."""
    if words <= 2:
        return "character"
    return "whitespace" if distinct_words <= 300 and word_length <= 4 else "bpe"


def tokens_a_word(vocabulary: int) -> float:
    """With commas and full stops: 2.5 of 300 pieces, 2.35 of 400, 1.7 of 1,500 and 1.5 of 4,000 on film reviews; of 300
    and 500 on German captions 2.4 and 2.05."""
    return 1.15 + 24 / math.sqrt(vocabulary)


def reading_length(words: int, characters: int, vocabulary: int) -> int:
    """Tokens that are read of a text: all but of the longest 5 %, 512 at the most, in multiples of 16."""
    wanted = max(math.ceil(tokens_a_word(vocabulary) * words), characters) + 2
    return max(16, min(LONGEST_READING, -(-wanted // 16) * 16))
