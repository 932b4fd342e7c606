"""An edit changes what it names, for the length of its block, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.mechanism import MatrixMechanism
from regard.core.errors import NoMatrix, OptionError
from regard.core.taps import attention_points, last_outputs, record, record_attention_outputs, record_outputs, replace
from regard.inspection.change import change
from regard.inspection.editing import patched, permuted, reweighted, scaled_heads, uniform, without_heads
from regard.inspection.heads.names import every_head, head_count
from regard.inspection.probes import logits_of, probe
from tests.inspection.loud_runs import ATTENTIVE, OTHER, TEXT, loud, made

every_family = pytest.mark.parametrize("family", ATTENTIVE)
MANY = [family for family in ATTENTIVE if family in ("transformer", "convolution", "gpt", "llama", "bert")]
TARGETS = dict.fromkeys(("transformer", "bahdanau", "luong", "luong-predictive", "convolution"), "a bird")


def asked(family: str, text: str = TEXT) -> tuple[Any, Any]:
    run = loud(family)
    return run, probe(run, text, TARGETS.get(family, ""))


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


@pytest.mark.parametrize("family", MANY)
def test_a_head_that_is_off_writes_nothing(family: str, tmp_path: Path) -> None:
    """As if its slice of the output matrix were 0."""
    run, one = asked(family)
    name, head = every_head(run.model)[-1]
    untouched = logits_of(run.model, one)
    with without_heads(run.model, [(name, head)]):
        found = logits_of(run.model, one)
    other = made(family, tmp_path)
    output = other.model.get_submodule(name).output
    with torch.no_grad():
        output.weight.unflatten(1, (head_count(other.model, name), -1))[:, head] = 0
    assert torch.allclose(found, logits_of(other.model, one), atol=1e-5)
    assert not torch.allclose(found, untouched, atol=1e-3)
    assert torch.equal(logits_of(run.model, one), untouched)
    assert hooks(run.model) == 0


@pytest.mark.parametrize("family", ["bahdanau", "luong", "luong-predictive"])
def test_without_its_one_head_a_recurrent_decoder_reads_nothing(family: str) -> None:
    run, one = asked(family)
    with without_heads(run.model, [("attention", 0)]):
        found = logits_of(run.model, one)
    with replace(run.model, "attention", lambda name, out: torch.zeros_like(out)):
        assert torch.allclose(found, logits_of(run.model, one), atol=1e-6)


@every_family
def test_heads_get_louder_and_other_weights_are_read_with(family: str) -> None:
    run, one = asked(family)
    untouched = logits_of(run.model, one)
    heads = every_head(run.model)
    with scaled_heads(run.model, dict.fromkeys(heads, 1.0)):
        assert torch.equal(logits_of(run.model, one), untouched)
    with reweighted(run.model, heads, lambda weights_BTS: weights_BTS):
        assert torch.allclose(logits_of(run.model, one), untouched, atol=1e-4)
    last = heads[-1]
    with record_attention_outputs(run.model, last[0]) as plain:
        logits_of(run.model, one)
    with scaled_heads(run.model, {last: 3.0}), record_attention_outputs(run.model, last[0]) as loud_ones:
        logits_of(run.model, one)
    first = plain[last[0]][0]
    louder = loud_ones[last[0]][0]
    assert torch.allclose(louder[:, -1], 3 * first[:, -1])
    assert torch.equal(louder[:, :-1], first[:, :-1])


@pytest.mark.parametrize("family", ["transformer", "gpt", "bahdanau"])
def test_a_uniform_head_reads_the_mean_of_what_it_may_see(family: str) -> None:
    run, one = asked(family)
    name, head = every_head(run.model)[0]
    values: list[Tensor] = []
    handle = attention_points(run.model)[name].register_forward_pre_hook(lambda _, inputs: values.append(inputs[2]))
    with reweighted(run.model, [(name, head)], uniform), record_attention_outputs(run.model, name) as seen:
        logits_of(run.model, one)
    handle.remove()
    found, v_SV = seen[name][0][0, head], values[0][0, min(head, values[0].shape[1] - 1)]
    seen_by_last = v_SV[: len(found)] if family == "gpt" else v_SV
    assert torch.allclose(found[-1], seen_by_last.mean(0), atol=1e-5)


def test_shuffled_weights_are_the_same_weights_among_the_same_keys() -> None:
    weights_BTS = torch.tensor([[[0.5, 0.3, 0.2, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4, 0.0]]])
    found = permuted(3)(weights_BTS)
    assert torch.equal(found.sort(dim=-1).values, weights_BTS.sort(dim=-1).values)
    assert torch.equal(found > 0, weights_BTS > 0)
    many = torch.stack([permuted(seed)(weights_BTS)[0, 1] for seed in range(40)])
    assert (many.std(0)[:4] > 0.05).all()  # each key gets every weight, sooner or later
    assert torch.equal(uniform(weights_BTS)[0, 0], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("family", "last"), [("transformer", "decoder.layers.1"), ("gpt", "stack.layers.1"), ("bahdanau", "readout")]
)
def test_with_all_of_the_last_states_another_input_has_its_say(family: str, last: str) -> None:
    run, one = asked(family)
    _, other = asked(family, OTHER)
    with record_outputs(run.model, last) as held:
        theirs = logits_of(run.model, other)
    assert not torch.allclose(theirs, logits_of(run.model, one), atol=1e-3)
    with patched(run.model, {last: held[last]}):
        assert torch.allclose(logits_of(run.model, one), theirs, atol=1e-6)
    assert hooks(run.model) == 0


@pytest.mark.parametrize(("family", "name"), [("transformer", "decoder.layers.0.cross"), ("luong", "attention")])
def test_all_heads_patched_are_their_attention_patched(family: str, name: str) -> None:
    run, one = asked(family)
    _, other = asked(family, OTHER)
    with record_attention_outputs(run.model, name) as by_head, record_outputs(run.model, name) as whole:
        logits_of(run.model, other)
    heads = [(name, head) for head in range(head_count(run.model, name))]
    with patched(run.model, dict.fromkeys(heads, by_head[name])):
        found = logits_of(run.model, one)
    with patched(run.model, {name: whole[name]}):
        assert torch.allclose(found, logits_of(run.model, one), atol=1e-5)
    assert not torch.allclose(found, logits_of(run.model, one), atol=1e-3)


def test_some_rows_are_patched_and_the_past_stays() -> None:
    run, one = asked("gpt")
    longer = probe(run, OTHER + " den Vogel")
    with record_outputs(run.model, "stack.layers.0") as held:
        logits_of(run.model, longer)
    untouched = logits_of(run.model, one)
    with patched(run.model, held, rows=[5, 400]):
        found = logits_of(run.model, one)
    assert torch.equal(found[:5], untouched[:5])
    assert not torch.allclose(found[5], untouched[5], atol=1e-3)


def test_what_cannot_be_patched_says_why() -> None:
    run, one = asked("gpt")
    with record_outputs(run.model, "stack.layers.0") as held:
        logits_of(run.model, probe(run, "ein"))
    told = "take inputs of the same number of tokens, or choose rows"
    with pytest.raises(OptionError, match=told), patched(run.model, held):
        logits_of(run.model, one)
    with record_outputs(run.model, "stack.layers.0") as held:
        logits_of(run.model, one)
    told = r"stack\.layers\.0 is called more often now than when it was recorded"
    with patched(run.model, held):
        logits_of(run.model, one)
        with pytest.raises(OptionError, match=told):
            logits_of(run.model, one)
    told = r"no module of this model is called 'stack\.layers\.9'; available: embedding"
    with pytest.raises(OptionError, match=told), patched(run.model, {"stack.layers.9": []}):
        pass
    assert hooks(run.model) == 0


def test_heads_that_are_not_there_are_named_together() -> None:
    run, _ = asked("gpt")
    wrong = [("cross", 0), ("stack.layers.0.attention", 4)]
    with pytest.raises(OptionError) as caught, without_heads(run.model, wrong):
        pass
    assert str(caught.value) == (
        "no such head: 2 problems\n  - head 0 of 'cross'\n  - head 4 of 'stack.layers.0.attention'; "
        "available: stack.layers.0.attention (0 to 3), stack.layers.1.attention (0 to 3)"
    )


def test_what_has_no_weights_cannot_get_others() -> None:
    model: Any = nn.Module()
    model.attention = MatrixMechanism()
    model.attention.has_matrix = False
    told = "attention: MatrixMechanism never forms weights"
    with pytest.raises(NoMatrix, match=told), reweighted(model, [("attention", 0)], uniform):
        pass


def test_a_change_is_told_in_losses_and_words() -> None:
    run, one = asked("transformer")
    before = logits_of(run.model, one)
    heads = every_head(run.model, "decoder.*")
    found = change(run, one, without_heads(run.model, heads))
    with without_heads(run.model, heads):
        after = logits_of(run.model, one)
    expected = torch.tensor(one.expected)
    assert found.loss_before == pytest.approx(float(functional.cross_entropy(before, expected)), rel=1e-5)
    assert found.loss_after == pytest.approx(float(functional.cross_entropy(after, expected)), rel=1e-5)
    assert 0 < found.moved <= 1
    assert found.others == int((before.argmax(-1) != after.argmax(-1)).sum()) > 0
    assert f"{found.others} of {len(one.asked)} answers change, first" in found.sentence
    nothing = change(run, one, scaled_heads(run.model, dict.fromkeys(heads, 1.0)))
    assert (nothing.moved, nothing.others) == (0.0, 0)
    assert "none of 7 answers changes" in nothing.sentence
    json.dumps(found.as_dict(), allow_nan=False)


def test_behind_a_mask_the_answer_before_is_what_counts() -> None:
    run = loud("bert")
    one = probe(run, "der [MASK] singt")
    found = change(run, one, without_heads(run.model, every_head(run.model)))
    logits = logits_of(run.model, one)[one.asked[0]]
    assert found.loss_before == pytest.approx(-float(logits.log_softmax(-1).max()), rel=1e-5)
    assert len(found.said_before) == 1


def test_recording_sees_an_edit() -> None:
    """Taps and edits live side by side."""
    run, one = asked("gpt")
    first = ("stack.layers.0.attention", 1)
    with record(run.model, "*") as before, last_outputs(run.model, "stack.layers.0"):
        logits_of(run.model, one)
    with without_heads(run.model, [first]), record(run.model, "*") as after:
        logits_of(run.model, one)
    same, moved = ("stack.layers.0.attention", "stack.layers.1.attention")
    assert torch.equal(before[same].weights, after[same].weights)
    assert not torch.allclose(before[moved].weights, after[moved].weights, atol=1e-4)
