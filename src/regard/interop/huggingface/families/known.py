"""The families that are exchanged, found by their name there or here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.core.errors import OptionError, RunError
from regard.interop.huggingface.families.bert import BERT
from regard.interop.huggingface.families.distilbert import DISTILBERT
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.families.gpt2 import GPT2
from regard.interop.huggingface.families.llama import LLAMA
from regard.interop.huggingface.families.marian import MARIAN
from regard.interop.huggingface.families.pegasus import PEGASUS
from regard.interop.huggingface.families.roberta import ROBERTA

FAMILIES = (GPT2, LLAMA, MARIAN, PEGASUS, BERT, ROBERTA, DISTILBERT)


def family_of_config(config: Mapping[str, Any], where: str) -> Family:
    """By ``architectures``, or by ``model_type`` where a config.json names no architecture."""
    names, model_type = config.get("architectures") or [], config.get("model_type")
    for family in FAMILIES:
        known = {family.architecture, *family.also} & {*names} if names else model_type == family.model_type
        if known and model_type in (None, family.model_type):
            return family
    listed = ", ".join(
        f"{', '.join((family.architecture, *family.also))} (model_type {family.model_type!r})" for family in FAMILIES
    )
    found = f"architectures = {names}, model_type = {model_type!r}"
    raise RunError(f"{where}: {found} is not supported; known: {listed}")


def family_of_model(table: Mapping[str, Any], where: str) -> Family:
    """By the kind of our ``[model]`` table; families of one kind know which tables are theirs."""
    kind = table["kind"]
    for family in FAMILIES:
        if family.kind == kind and family.suits(table):
            return family
    kinds = ", ".join(dict.fromkeys(repr(family.kind) for family in FAMILIES))
    raise OptionError(f"{where}: model.kind = {kind!r} cannot be written for Hugging Face; supported: {kinds}")
