"""One family a file, readable top to bottom; families never import one another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field

from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.core.config import Choices, Part
from regard.core.roles import Role

if TYPE_CHECKING:
    from torch import nn

    from regard.core.ports import Ports


class ModelPart(Part):
    """Settings of a family of models."""

    roles: ClassVar[frozenset[Role]] = frozenset(Role)  # what it can do; one that does not say is taken at its word

    stacks: ClassVar[Mapping[str, str]] = {}
    """Settings that say how many layers a stack has, each with the path of the stack in the model; every layer takes
    states first and gives as large ones."""
    head_widths: ClassVar[tuple[str, ...]] = ()
    """Settings that hold the width of a head where their number changes."""

    width: int = Field(256, ge=1)
    dropout: Annotated[float, Auto(lt=1)] = AUTO

    def settled(self, dropout: Callable[[], float] = lambda: rules.USUAL_DROPOUT) -> Self:
        """The same with nothing left to be decided, this much being dropped where the recipe does not say it."""
        return self.model_copy(update={"dropout": decided(self.dropout, dropout), **self.settled_sizes()})

    def settled_sizes(self) -> dict[str, Any]:
        """Those of its sizes that depend on others, decided."""
        return {}

    @abstractmethod
    def build(self, ports: Ports) -> nn.Module: ...


MODELS = Choices(
    "model",
    ModelPart,
    "transformer",
    {
        "fixed-context": "regard.models.fixed_context:FixedContextConfig",
        "bahdanau": "regard.models.bahdanau:BahdanauConfig",
        "luong": "regard.models.luong:LuongConfig",
        "convolution": "regard.models.convolution:ConvolutionConfig",
        "transformer": "regard.models.transformer:TransformerConfig",
        "recurrent": "regard.models.recurrent:RecurrentConfig",
        "gpt": "regard.models.gpt:GptConfig",
        "llama": "regard.models.llama:LlamaConfig",
        "transformer-xl": "regard.models.transformer_xl:TransformerXlConfig",
        "bert": "regard.models.bert:BertConfig",
        "hierarchical": "regard.models.hierarchical:HierarchicalConfig",
        "vit": "regard.models.vit:VitConfig",
        "graph-transformer": "regard.models.graph_transformer:GraphTransformerConfig",
    },
)
