"""How a query reads a memory: scores, masks, one mechanism a file, heads around any of them."""

from regard.core.config import Choices

MECHANISMS = Choices("attention", "softmax", {"softmax": "regard.attention.softmax:SoftmaxConfig"})
