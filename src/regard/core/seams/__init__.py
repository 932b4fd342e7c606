"""The seams of the house, each a Protocol with its law; what passes through them is in the files beside this folder."""

from regard.core.seams.attention import Mechanism, Position, ReadsProducts, SharesKeys
from regard.core.seams.bodies import (
    Body,
    GuessesWords,
    HasGrid,
    HasPooler,
    HasReach,
    HasSegments,
    Interpolates,
    ReadsAgain,
    ReadsAndWrites,
    ReadsArrays,
    RelatesTexts,
    max_length_of,
    max_lengths_of,
    reads_segments,
)
from regard.core.seams.decoding import ConstantSizeState, Decodable, DecodingState, Engine, Hypothesis
from regard.core.seams.observer import Observer

__all__ = [
    "Body",
    "ConstantSizeState",
    "Decodable",
    "DecodingState",
    "Engine",
    "GuessesWords",
    "HasGrid",
    "HasPooler",
    "HasReach",
    "HasSegments",
    "Hypothesis",
    "Interpolates",
    "Mechanism",
    "Observer",
    "Position",
    "ReadsAgain",
    "ReadsAndWrites",
    "ReadsArrays",
    "ReadsProducts",
    "RelatesTexts",
    "SharesKeys",
    "max_length_of",
    "max_lengths_of",
    "reads_segments",
]
