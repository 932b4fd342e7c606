"""One family a file, readable top to bottom; families never import one another."""

from regard.core.config import Choices

MODELS = Choices(
    "model",
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
    },
)
