"""Alternating layers: some see their neighbourhood, some everything, by their number in the stack."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, SerializeAsAny

from regard.attention import MECHANISMS, AttentionContext, MechanismPart
from regard.core.seams import Mechanism

INNER = MECHANISMS.without("alternating")


class AlternatingConfig(MechanismPart):
    """Layers take turns between two mechanisms, in the order of ``pattern``, which begins anew when it is through.

    GPT-3 alternates dense and locally banded sparse layers (Brown et al. 2020, section 2.1, after Child et al. 2019);
    Qwen2 has full layers first, its relatives every sixth. A pattern as long as the stack names each layer by itself.
    """

    self_only: ClassVar[bool] = True

    kind: str = "alternating"
    pattern: tuple[Literal["local", "full"], ...] = Field(("local", "full"), min_length=1)
    local: Annotated[SerializeAsAny[MechanismPart], INNER.with_default("window")] = Field(
        default_factory=INNER.with_default("window").make
    )
    full: Annotated[SerializeAsAny[MechanismPart], INNER] = Field(default_factory=INNER.make)

    def build(self, context: AttentionContext) -> Mechanism:
        chosen = self.pattern[context.layer % len(self.pattern)]
        return (self.local if chosen == "local" else self.full).build(context)
