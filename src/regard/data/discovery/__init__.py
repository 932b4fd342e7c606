"""Looks at files of your own, measures them, and makes the ``[data]`` table of a recipe."""

from __future__ import annotations

DISCOVERERS = (
    "regard.data.discovery.files.idx:IdxFiles",
    "regard.data.discovery.files.graph_files:GraphFiles",
    "regard.data.discovery.files.series_files:LabelledSeriesFiles",
    "regard.data.discovery.files.questions:SquadFiles",
    "regard.data.discovery.files.bracketed_trees:Treebanks",
    "regard.data.discovery.files.tagged_columns:TaggedColumns",
    "regard.data.discovery.tables.timed:TimedTables",
    "regard.data.discovery.tables.table_data:Tables",
    "regard.data.discovery.files.class_folders:picture_folders",
    "regard.data.discovery.files.class_folders:sound_folders",
    "regard.data.discovery.files.parallel:ParallelFiles",
    "regard.data.discovery.files.class_folders:TextFolders",
    "regard.data.discovery.files.running_text:RunningText",
)
"""What makes each kind of data, ``module:name``, in the order in which they are asked whether they recognise
themselves."""
