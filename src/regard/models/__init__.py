"""One family a file, readable top to bottom; families never import one another."""

from regard.core.config import Choices

MODELS = Choices("model", "transformer", {"transformer": "regard.models.transformer:TransformerConfig"})
