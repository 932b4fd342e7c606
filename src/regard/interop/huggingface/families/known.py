"""The families that are exchanged, found by their name there or here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.core.config import nearest
from regard.core.errors import OptionError, RunError
from regard.interop.huggingface.families.bert import BERTS
from regard.interop.huggingface.families.deepseek import DEEPSEEKS
from regard.interop.huggingface.families.distilbert import DISTILBERTS
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.families.gpt2 import GPT2
from regard.interop.huggingface.families.llama import LLAMA
from regard.interop.huggingface.families.marian import MARIAN
from regard.interop.huggingface.families.mistral import MISTRAL
from regard.interop.huggingface.families.mixtral import MIXTRAL
from regard.interop.huggingface.families.pegasus import PEGASUS
from regard.interop.huggingface.families.qwen import QWEN2, QWEN3
from regard.interop.huggingface.families.roberta import ROBERTAS
from regard.interop.huggingface.families.vit import VITS

RELATIVES = (*DEEPSEEKS, MIXTRAL, QWEN3, QWEN2, MISTRAL, LLAMA)
"""Of one kind here; the first whose parts a model has is how it is written, and Llama is the plain one."""
FAMILIES = (GPT2, *RELATIVES, MARIAN, PEGASUS, *BERTS, *ROBERTAS, *DISTILBERTS, *VITS)
"""Of those with one model_type, the first is what a folder holds that names no architecture."""


def family_of_config(config: Mapping[str, Any], where: str, named: str = "") -> Family:
    """By ``architectures``, or by ``model_type`` where a config.json names no architecture; else as the user says."""
    found = _declared_family(config)
    if named:
        return _named_family(named, found, where)
    if found is not None:
        return found
    listed = ", ".join(f"{', '.join(own)} (model_type {kind!r})" for kind, own in architectures().items())
    said = f"architectures = {config.get('architectures') or []}, model_type = {config.get('model_type')!r}"
    raise RunError(
        f"{where}: {said} is not supported; known: {listed}. If it is one of these under no name or another, say "
        "which: regard import … --as bert"
    )


def _declared_family(config: Mapping[str, Any]) -> Family | None:
    said, model_type = config.get("architectures") or [], config.get("model_type")
    names = [str(one) for one in said] if isinstance(said, list) else [str(said)]
    for family in FAMILIES:
        known = {family.architecture, *family.also} & {*names} if names else model_type == family.model_type
        if known and model_type in (None, family.model_type):
            return family
    return None


def _named_family(named: str, found: Family | None, where: str) -> Family:
    """By the name of an architecture or a model_type, however it is cased."""
    chosen = [
        family for family in FAMILIES
        if named.lower() in {name.lower() for name in (family.architecture, family.model_type, *family.also)}
    ]  # fmt: skip
    if not chosen:
        names = [name for kind, own in architectures().items() for name in (kind, *own)]
        raise OptionError(f"--as {named} is not a known family{nearest(named, names)}: {', '.join(names)}")
    if found is not None and found.model_type != chosen[0].model_type:
        raise OptionError(f"--as {named}, but {where} says itself that it is a {found.architecture}; leave out --as")
    return found if found in chosen else chosen[0]


def architectures() -> dict[str, list[str]]:
    """All that are known, by model_type."""
    found: dict[str, list[str]] = {}
    for family in FAMILIES:
        found.setdefault(family.model_type, []).extend((family.architecture, *family.also))
    return found


def family_of_model(
    table: Mapping[str, Any], task: Mapping[str, Any], where: str, *, headed: bool, start: str = ""
) -> Family:
    """By the kind of our ``[model]`` table and, where the head of a task stands on it, by the task.

    Families of one kind know which tables are theirs. ``start`` is the run that this one was started from.
    """
    kind = table["kind"]
    candidates = [f for f in FAMILIES if f.headed == headed and (not headed or f.task == task["kind"])]
    for family in candidates:
        if family.kind == kind and family.suits(table) and family.suits_task(task):
            return family
    if headed:
        known = f" (known: {', '.join(family.architecture for family in candidates)})" if candidates else ""
        instead = f"export the run that it was started from: {start}" if start else "export a run that has none"
        on = f"the head for {task['kind']} on model.kind = {kind!r}"
        raise OptionError(f"{where}: {on} has no counterpart there{known}; {instead}")
    kinds = ", ".join(dict.fromkeys(repr(family.kind) for family in candidates))
    raise OptionError(f"{where}: model.kind = {kind!r} cannot be written for Hugging Face; supported: {kinds}")
