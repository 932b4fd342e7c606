"""What files of a user's own hold: looked at, measured, and made into the [data] table of a recipe."""

from __future__ import annotations

DISCOVERERS = (
    "regard.data.discovery.idx:IdxFiles",
    "regard.data.discovery.questions:SquadFiles",
    "regard.data.discovery.bracketed_trees:Treebanks",
    "regard.data.discovery.tagged_columns:TaggedColumns",
    "regard.data.discovery.table_data:Tables",
    "regard.data.discovery.class_folders:PictureFolders",
    "regard.data.discovery.parallel:ParallelFiles",
    "regard.data.discovery.class_folders:TextFolders",
    "regard.data.discovery.running_text:RunningText",
)
"""Kinds of data in the order in which they are asked whether they recognise themselves, each ``module:Class``."""
