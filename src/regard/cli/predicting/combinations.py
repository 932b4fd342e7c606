"""Checks which options of ``regard predict`` conflict, before a run is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from regard.cli.options.strategy import DECODING_OPTIONS, given_options
from regard.core.errors import OptionError

OF_TEXTS = ("scores", "alignment", "reference", "context", "skip", "jsonl")
"""What has to do with texts, of which there are many, and not with a prompt."""


def check_combination(texts: list[str], given: Mapping[str, Any]) -> None:
    """``given`` are the options by name; one that nobody gave is None, False or empty."""

    def there(*names: str) -> list[str]:
        return given_options({name: given[name] for name in names})

    prompting = there("prompt", "interactive")
    if texts and given["file"] is not None:
        raise OptionError("give texts on the command line or --file, not both")
    if prompting and there(*OF_TEXTS):
        named = ", ".join(there(*OF_TEXTS))
        raise OptionError(f"--prompt and --interactive cannot be combined with options for texts; leave out {named}")
    if given["interactive"] and (texts or there("file", "prompt", "json")):
        raise OptionError("--interactive asks for its prompts itself; leave out texts, --file, --prompt and --json")
    if given["prompt"] is not None and (texts or given["file"] is not None):
        raise OptionError("give --prompt, or texts, or --file; one of the three")
    if given["echo"] and given["prompt"] == "":
        raise OptionError("--echo prints the prompt, and this one is empty; leave it out")
    if "" in given["stop"]:
        raise OptionError("--stop is empty; give the text before which an answer ends, or leave it out")
    if texts and given["skip"] is not None:
        raise OptionError("--skip leaves out lines of --file or of standard input, not texts; leave it out")
    if given["json"] and given["jsonl"]:
        raise OptionError("--json writes one object for everything, --jsonl one for each input; choose one of them")
    if given["reference"] is not None:
        check_reference(there, given["engine"])


def check_reference(there: Callable[..., list[str]], engine: str) -> None:
    """Given answers are scored by the model, and nothing is searched for."""
    decoding = there(*DECODING_OPTIONS, "max_tokens", "n_best")
    if decoding:
        raise OptionError(
            "--reference scores given answers and decodes nothing; leave out the decoding options: "
            + ", ".join(decoding)
        )
    if engine != "torch":
        raise OptionError("--reference is scored by the model itself; leave out --engine")
    style = there("stop", "echo", "shots", "keep_end")
    if style:
        raise OptionError(f"--reference scores given answers and writes none; leave out {', '.join(style)}")
