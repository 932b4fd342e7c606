"""The training loop: one for every model and task; resumes at any step, bit for bit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.core.batch import Batch, Examples, move
from regard.core.errors import TrainingError
from regard.core.penalties import PENALTY
from regard.core.precision import repeated_products
from regard.core.seams.capabilities import Derives, Samples, Stateful
from regard.core.seams.modules import CountsSteps, Recomputes
from regard.core.seams.task import Sums, Task
from regard.data.batching import epoch_order, in_length_order, parts
from regard.data.prefetch import prefetch
from regard.layers.dropout import Dropout
from regard.training import checkpoints, final_weights
from regard.training.config import TrainingConfig
from regard.training.layer_decay import layer_scales
from regard.training.learner import Learner, Teacher
from regard.training.machine import Ranks, choose_precision
from regard.training.observers import Observers
from regard.training.stopping import Interrupted, StopRequest, stop_signals

TASK_STATE = "task//"  # before the names of tensors that a task keeps from step to step
AHEAD = 2  # batches that are made before they are needed, where that takes time
EXPLODED = 10.0  # a loss this many times the first one, or 1 if that was smaller, is not coming back


@dataclass(slots=True)
class Progress:
    """Where training stands; everything here is in every checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch already done
    first_loss: float = math.nan
    best_loss: float = math.inf
    best_step: int = 0
    waited: int = 0  # validations since the best
    seconds: float = 0.0
    tokens: int = 0
    validation_loss: float = math.nan
    stopped_early: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Progress:
        """As a checkpoint holds it; JSON has no word for the infinity and the NaN that some figures start from."""
        return cls(**{name: state[name] for name in cls.__slots__ if state[name] is not None})


@dataclass
class Loop:
    """Trains a model on a task and keeps checkpoints in ``folder``."""

    model: nn.Module
    task: Task
    config: TrainingConfig
    seed: int
    folder: Path
    device: torch.device
    ranks: Ranks = field(default_factory=Ranks)
    observers: Observers = field(default_factory=Observers)
    teacher: Teacher | None = None

    def __post_init__(self) -> None:
        if not self.task.additive and (self.config.accumulate > 1 or self.ranks.world > 1):
            raise TrainingError(
                "this task's loss does not add over examples, so a step cannot be divided: "
                "set training.accumulate = 1 and run one process"
            )
        self.progress = Progress()
        self.stopping = StopRequest()
        self.collating = 0.0  # seconds spent on the next step's batches, which are part of what it takes
        self.precision = choose_precision(self.config.precision, self.device)
        self.optimizer = self.config.optimizer.build(self.model, self.config.learning_rate)
        if self.config.layer_decay < 1:
            self.optimizer.set_learning_rate_shares(layer_scales(self.model, self.config.layer_decay))
        self.names = {parameter: name for name, parameter in self.model.named_parameters()}
        self.learner: Any = Learner(self.model, self.task, self.teacher)
        if self.config.compile:  # graphs for one shape are faster, and where shapes vary compiled again and again
            self.learner = torch.compile(self.learner, dynamic=None if self.task.static_shapes else True)
        for module in self.model.modules():
            if isinstance(module, Recomputes):
                module.recompute = self.config.recompute
        self.counting = {name: one for name, one in self.model.named_modules() if isinstance(one, CountsSteps)}
        self.dropouts = [module for module in self.model.modules() if isinstance(module, Dropout)]

    # -- the loop itself ------------------------------------------------------------------------------------

    def run(self) -> Progress:
        """Trains until the last step, an early stop, or an interruption (which saves first)."""
        self.observers.on_start(self.config.steps, self.progress.step)
        self.warn_unused_settings()
        with stop_signals() as self.stopping:
            for batch in self.batches():
                self.step(batch)
                if self.progress.step % self.config.validate_every == 0 or self.is_over:
                    self.validate()
                if self.progress.step % self.config.checkpoint_every == 0 or self.is_over:
                    self.save()
                if self.is_over:
                    break
                if self.ranks.any(self.stopping.is_set()):
                    if self.progress.step % self.config.checkpoint_every:
                        self.save()
                    raise Interrupted(self.progress.step)
        self.observers.on_end(self.progress.step)
        return self.progress

    def warn_unused_settings(self) -> None:
        """Names settings that this run cannot follow."""
        if self.config.patience and not len(self.task.examples("validation", 0)):
            self.observers.on_message("training.patience has no effect: there is no validation split to measure")
        if self.config.recompute and not any(isinstance(module, Recomputes) for module in self.model.modules()):
            self.observers.on_message("training.recompute has no effect: this family of models cannot recompute")

    @property
    def is_over(self) -> bool:
        return self.progress.step >= self.config.steps or self.progress.stopped_early

    def batches(self) -> Iterator[list[Batch]]:
        """Global batches from where training stands, epoch after epoch, each as the parts that this rank computes.

        Where making them takes time (pictures are decoded), the next ones are made while a step is computed.
        """
        for examples, order in self.epochs():
            items, began = map(examples.at, order), time.perf_counter()
            for batches in prefetch(self.parts, items, ahead=AHEAD if examples.lazy else 0):
                self.collating += time.perf_counter() - began
                self.progress.batch += 1
                yield batches
                began = time.perf_counter()

    def items(self) -> Iterator[list[Any]]:
        """The same as examples, whoever computes them."""
        for examples, order in self.epochs():
            for indices in order:
                self.progress.batch += 1
                yield examples.at(indices)

    def epochs(self) -> Iterator[tuple[Examples, list[np.ndarray]]]:
        """The examples of each epoch, and what is left of its batches."""
        while not self.is_over:
            epoch, budget = self.progress.epoch, self.config.batch_tokens
            examples = self.task.examples("train", epoch)
            if not len(examples):
                raise TrainingError("there is nothing to train on: the training split has no usable examples")
            if examples.order is not None:
                order = examples.order(budget)
            else:
                order = epoch_order(examples.lengths_NA, budget, self.seed, epoch, examples.weights)
            yield examples, order[self.progress.batch :]
            self.progress.epoch += 1
            self.progress.batch = 0

    def parts(self, items: Sequence[Any]) -> list[Batch]:
        """A step divided for accumulation and ranks, collated: the parts of this rank, empty ones left out."""
        count = min(self.config.accumulate * self.ranks.world, max(1, len(items)))  # further ones would be empty
        divided = parts(np.arange(len(items)), count)[self.ranks.rank :: self.ranks.world]
        return [self.task.collate([items[index] for index in part]) for part in divided if len(part)]

    def step(self, batches: Sequence[Batch]) -> None:
        """One update from one global batch, whoever computes its parts."""
        began = time.perf_counter()
        progress, config = self.progress, self.config
        progress.step += 1
        torch.manual_seed(step_seed(self.seed, progress.step, self.ranks.rank))
        if not self.model.training:  # saying so to every module takes half a millisecond
            self.model.train()
        if config.dropout_warmup:
            for dropout in self.dropouts:
                dropout.set_strength(min(progress.step / config.dropout_warmup, 1.0))
        tokens = int(self.ranks.all_reduce({"tokens": float(sum(batch.tokens for batch in batches))})["tokens"])
        loss, norm = self.gradients(batches)
        self.check_finite(loss, norm)
        if config.clip and norm > config.clip:
            torch._foreach_mul_(self.present_gradients(), config.clip / norm)
        factor = config.schedule.factor(progress.step, config.steps)
        self.optimizer.scale(factor)
        with self.products():
            self.optimizer.step()
        counted = self.end_step()
        seconds = time.perf_counter() - began + self.collating
        self.collating = 0.0
        progress.seconds += seconds
        progress.tokens += tokens
        figures = {
            "loss": loss,
            "gradient_norm": norm,
            "learning_rate": config.learning_rate * factor,
            "tokens": float(tokens),
            "seconds": seconds,
            "epoch": float(progress.epoch),
            **counted,
        }
        self.observers.on_step(progress.step, figures)

    def end_step(self) -> dict[str, float]:
        """What modules counted in the whole step, told to them once; their figures, by name."""
        if not self.counting:
            return {}
        own = {(name, what): count for name, one in self.counting.items() for what, count in one.step_counts().items()}
        counts = self.ranks.all_reduce({f"{name}/{what}": count for (name, what), count in own.items()})
        figures: dict[str, float] = {}
        for name, one in self.counting.items():
            told = {what: counts[f"{name}/{what}"] for owner, what in own if owner == name}
            figures |= {f"{name}.{what}": figure for what, figure in one.end_step(told).items()}
        return figures

    def gradients(self, batches: Sequence[Batch]) -> tuple[float, float]:
        """The gradient of the mean loss over the global batch, with what layers add; returns it and the norm."""
        self.optimizer.zero_grad()
        own = {"loss": sum(batch.loss_terms for batch in batches), PENALTY: sum(batch.tokens for batch in batches)}
        counts = self.ranks.all_reduce({name: float(count) for name, count in own.items()})
        total = 0.0
        for batch in batches:
            with repeated_products() if self.task.static_shapes else nullcontext():
                sums = self.sums(batch).sums
                means = [sums[name] / max(int(counts[name]), 1) for name in ("loss", PENALTY) if name in sums]
                sum(means[1:], means[0]).backward()
            total += sum(float(mean.detach()) for mean in means)
        self.ranks.all_reduce_gradients(self.model)
        total = self.ranks.all_reduce({"loss": total})["loss"]
        return total, float(nn.utils.get_total_norm(self.present_gradients()))

    def present_gradients(self) -> list[torch.Tensor]:
        return [parameter.grad for parameter in self.names if parameter.grad is not None]

    def sums(self, batch: Batch) -> Sums:
        with self.products():
            return self.learner(move(batch, self.device))

    def products(self) -> torch.autocast:
        """Inside, products have the training's precision."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bfloat16")

    def check_finite(self, loss: float, norm: float) -> None:
        """A loss or gradient that is not a number never reaches the weights."""
        progress = self.progress
        if math.isnan(progress.first_loss):
            progress.first_loss = loss
        exploded = abs(loss) > EXPLODED * max(abs(progress.first_loss), 1.0)
        if math.isfinite(loss) and math.isfinite(norm) and not exploded:
            return
        found = f"the loss is {loss:.4g}, the gradient's norm {norm:.4g}"
        kept = checkpoints.folders(self.folder)
        raise TrainingError(
            f"training diverged at step {progress.step}: {found} (the first loss was {progress.first_loss:.4g}). "
            + (f"The last good checkpoint is {kept[-1]}. " if kept else "No checkpoint had been written yet. ")
            + "Begin again with a lower training.learning_rate, a longer warm-up, or training.clip, in a new --out"
        )

    # -- looking, keeping, coming back ----------------------------------------------------------------------

    def validate(self) -> None:
        """The mean of every named sum over the validation split; a better loss is remembered."""
        figures = self.measure("validation")
        if not figures:
            return
        progress = self.progress
        progress.validation_loss = figures["loss"]
        if figures["loss"] < progress.best_loss:
            progress.best_loss, progress.best_step, progress.waited = figures["loss"], progress.step, 0
            if self.config.final == "best" and self.ranks.is_main:
                self.save_to(final_weights.best_folder(self.folder))
        else:
            progress.waited += 1
        self.observers.on_validation(progress.step, {**figures, "seconds": progress.seconds})
        task = self.task
        if isinstance(task, Samples) and self.ranks.is_main and (text := task.sample(self.model, self.device)):
            self.observers.on_message(f"a sample: {text}")
        if self.config.patience and progress.waited >= self.config.patience:
            progress.stopped_early = True
            self.observers.on_message(
                f"stopped early: no better validation loss than {progress.best_loss:.4f} (step {progress.best_step}) "
                f"in {progress.waited} validations"
            )

    @torch.no_grad()
    def measure(self, split: str) -> dict[str, float]:
        examples = self.task.examples(split, 0)
        if not len(examples):
            return {}
        self.model.eval()
        totals: dict[str, float] = {}
        counts: dict[str, int] = {}
        if examples.order is not None:
            batches = examples.order(self.config.batch_tokens)
        else:
            batches = in_length_order(examples.lengths_NA, self.config.batch_tokens)
        own = batches[self.ranks.rank :: self.ranks.world]
        share = 1 if own else 0
        for indices in own or batches[:1]:  # a rank without work must still send the same names
            if self.stopping.is_new():
                self.observers.on_message("stopping once this is measured and saved; Ctrl-C again stops at once")
            sums = self.sums(self.task.collate(examples.at(indices)))
            for name, value in sums.sums.items():
                totals[name] = totals.get(name, 0.0) + float(value) * share
                counts[name] = counts.get(name, 0) + sums.counts[name] * share
        totals = self.ranks.all_reduce(totals)
        divisors = self.ranks.all_reduce({name: float(count) for name, count in counts.items()})
        means = {name: totals[name] / max(divisors[name], 1) for name in totals}
        return {**means, **self.task.derived(split, means)} if isinstance(self.task, Derives) else means

    def save(self) -> None:
        if self.ranks.is_main:
            folder = checkpoints.folder_for(self.folder, self.progress.step)
            self.save_to(folder)
            self.prune(folder)
            self.observers.on_checkpoint(self.progress.step, folder)
        self.ranks.barrier()

    def prune(self, newest: Path) -> None:
        keep = max(self.config.keep, self.config.average if self.config.final == "average" else 1)
        checkpoints.prune(self.folder, newest, keep, self.config.checkpoint_every)

    def save_to(self, folder: Path) -> None:
        machine = {"threads": torch.get_num_threads(), "ranks": self.ranks.world, "precision": self.precision}
        state = {**self.progress.as_dict(), "seed": self.seed, **machine, "torch": torch.__version__}
        tensors = self.optimizer.tensors(self.names)
        if isinstance(self.task, Stateful):
            tensors |= {f"{TASK_STATE}{name}": tensor for name, tensor in self.task.state_dict().items()}
        checkpoints.save(folder, checkpoints.weights_of(self.model), tensors, state)

    def resume(self) -> bool:
        """Goes back to the newest whole checkpoint; False where there is none."""
        found, complaints = checkpoints.latest(self.folder)
        instead = "no whole checkpoint is left, so training starts again at step 1"
        if found is not None:
            instead = f"the checkpoint of step {found.state['step']} is used"
        for complaint in complaints:
            self.observers.on_message(f"{complaint}; {instead}")
        if found is None:
            return False
        for difference in self.differences(found.state):
            self.observers.on_message(f"this run was trained {difference} for bit-identical weights")
        checkpoints.load_weights(self.model, found.weights, str(found.folder))
        self.optimizer.restore(found.optimizer, self.names)
        if isinstance(self.task, Stateful):
            held = {name: tensor for name, tensor in found.optimizer.items() if name.startswith(TASK_STATE)}
            state = {name.removeprefix(TASK_STATE): tensor.to(self.device) for name, tensor in held.items()}
            self.task.load_state_dict(state)
        self.progress = Progress.of(found.state)
        if self.ranks.is_main:  # what a kill left undone: with it an average would have another member
            self.prune(found.folder)
        return True

    def differences(self, before: dict[str, Any]) -> Iterator[str]:
        """What rounds or draws otherwise here than where a checkpoint was written, and the remedy."""
        rounded = "sums are rounded differently"
        if (threads := before["threads"]) != torch.get_num_threads():
            yield (
                f"with {threads} threads and continues with {torch.get_num_threads()}: {rounded}; set "
                f"training.threads={threads}"
            )
        if (ranks := before.get("ranks", 1)) != self.ranks.world:
            yield (
                f"by {ranks} processes and continues with {self.ranks.world}: dropout falls elsewhere; "
                f"give --ranks {ranks}"
            )
        if (precision := before.get("precision", self.precision)) != self.precision:
            yield f"in {precision} and continues in {self.precision}: {rounded}; set training.precision={precision}"
        if (version := before.get("torch", torch.__version__)) != torch.__version__:
            yield f"with torch {version} and continues with {torch.__version__}: {rounded}; install torch=={version}"

    def finish(self) -> None:
        """Puts the weights into the model that the run ends with: last, best, or an average."""
        if self.config.final == "average":
            average = final_weights.averaged_weights(self.folder, self.config.average)
            checkpoints.load_weights(self.model, average, "average of checkpoints")
        elif self.config.final == "best":
            kept, best = final_weights.best_folder(self.folder), final_weights.best_weights(self.folder)
            if best is None:
                self.observers.on_message(f"there are no best weights in {kept}: the run ends with the last ones")
            else:
                checkpoints.load_weights(self.model, best, str(kept))


def step_seed(seed: int, step: int, rank: int) -> int:
    """Randomness is a function of (seed, step, rank), so that resuming needs no generator state."""
    return int(np.random.SeedSequence((seed, step, rank)).generate_state(1, np.uint64)[0] >> np.uint64(1))
