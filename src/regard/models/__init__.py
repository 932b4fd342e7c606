"""One family a file, readable top to bottom; families never import one another."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from regard.core.config import Choices, Part

if TYPE_CHECKING:
    from torch import nn

    from regard.core.ports import Ports


class ModelPart(Part):
    """Settings of a family of models."""

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
        "bert": "regard.models.bert:BertConfig",
        "vit": "regard.models.vit:VitConfig",
    },
)
