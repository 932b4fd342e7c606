"""Pictures as texts of grey values: one sign a pixel, row by row, from "0", which is dark, to the brightest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.core.errors import DataError

SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class GreyLevels:
    """How many grey values there are, and how large a picture is."""

    levels: int
    rows: int
    columns: int

    def text(self, values_HW: np.ndarray) -> str:
        """Whole numbers below the number of levels, as signs."""
        return "".join(SIGNS[value] for value in values_HW.ravel().tolist())

    def beginning(self, pixels_HW: np.ndarray) -> str:
        """The upper half of a picture of grey bytes as a text to be continued; of a lower picture all there is."""
        rows, columns = pixels_HW.shape
        if columns != self.columns or not 0 < rows <= self.rows:
            raise DataError(
                f"a picture of {rows} × {columns} pixels, and {self.rows} × {self.columns} are read, or the first rows "
                "of them; scale or crop it"
            )
        kept_HW = pixels_HW[: self.rows // 2] if rows == self.rows else pixels_HW
        return self.text(np.round(kept_HW.astype(np.float64) * (self.levels - 1) / 255).astype(np.int64))

    def pixels(self, text: str) -> np.ndarray:
        """pixels_HW of grey bytes; what the text does not say is dark, and signs that say nothing are left out."""
        values = [SIGNS.index(sign) for sign in text if sign in SIGNS[: self.levels]][: self.rows * self.columns]
        values_HW = np.zeros(self.rows * self.columns)
        values_HW[: len(values)] = values
        return np.round(values_HW * 255 / (self.levels - 1)).astype(np.uint8).reshape(self.rows, self.columns)
