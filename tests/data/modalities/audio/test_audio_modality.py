"""The audio modality: sizes, rates, normalisation, augmentation, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.core.config import parse
from regard.core.errors import DataError, OptionError, RecipeError
from regard.core.ports import Arrays
from regard.data.modalities.audio.augmenting import Augmentation, Change, changed_samples, hide, moved, noise_at
from regard.data.modalities.audio.decoding import Cache
from regard.data.modalities.audio.modality import AudioModality, AudioPart
from regard.data.modalities.audio.sounds import SoundFile, Waveform
from regard.data.modalities.audio.wav import wav_bytes
from tests.sounds import tone_of

RATE = 1000


def made(counts: tuple[int, ...] = (701, 500), rate: int = RATE) -> list[Waveform]:
    return [
        Waveform(np.random.default_rng(seed).uniform(-0.7, 0.7, count).astype(np.float32), rate)
        for seed, count in enumerate(counts)
    ]


def modality(sounds: list[Waveform] | None = None, **table: Any) -> AudioModality:
    table.setdefault("features", {"kind": "log-mel", "bins": 5, "window": 0.06})
    return parse(AudioPart, {"kind": "audio", **table}).measured(sounds or made())


def test_training_sounds_decide_the_rate_and_the_length() -> None:
    own = modality()
    assert own.rate == RATE
    assert own.port() == Arrays(1, (240, 5))  # 71 frames, rounded up so that patches divide them
    assert modality(features={"kind": "waveform", "hop": 0.007}).port() == Arrays(7, (240,))
    assert [own.size(item) for item in own.encode(made())] == [71, 50]


def test_values_are_normalised_over_training_frames() -> None:
    own = modality()
    inputs = own.collate(own.encode(made()))
    assert inputs.lengths_B is not None
    assert inputs.lengths_B.tolist() == [71, 50]
    real_NF = torch.cat([inputs.values[0, 0], inputs.values[1, 0, :50]])
    torch.testing.assert_close(real_NF.mean(0), torch.zeros(5), atol=1e-4, rtol=0)
    torch.testing.assert_close(real_NF.std(0, correction=0), torch.ones(5), atol=1e-4, rtol=0)
    assert (inputs.values[1, 0, 50:] == 0).all()


def test_the_waveform_is_read_sample_by_sample() -> None:
    own = modality(features={"kind": "waveform", "hop": 0.01})
    (first, _), inputs = made(), own.collate(own.encode(made()))
    assert inputs.values.shape == (2, 10, 71)
    read_N = inputs.values[0].T.flatten()[:701] * own.std[0] + own.mean[0]
    np.testing.assert_allclose(read_N, first.samples_N, atol=1e-5)
    assert len(own.std) == 1


def test_another_rate_is_resampled_and_said() -> None:
    own = modality()
    (other,) = made((1500,), rate=3000)
    assert own.correction(other) == "resampled from 3,000 to 1,000 Hz"
    assert own.correction(made()[0]) == ""
    assert own.size(own.encode([other])[0]) == 50
    assert len(own.samples(own.encode([other])[0])) == 500


def test_long_sounds_are_cut_where_that_is_wanted() -> None:
    own = modality(seconds=0.6)
    first, second = own.encode(made())
    assert (first.frames, own.cut(first), own.cut(second)) == (60, 11, 0)
    assert len(own.samples(first)) == 600
    assert own.collate([first]).values.shape == (1, 1, 60, 5)


def test_parse_names_what_is_wrong(tmp_path: Path) -> None:
    own = modality()
    with pytest.raises(DataError, match=r"there is no file 'none.wav'; this run reads sounds"):
        own.parse("none.wav")
    with pytest.raises(DataError, match="is a folder, but one sound is expected"):
        own.parse(str(tmp_path))
    whole = wav_bytes(tone_of("low", 0.3, rate=RATE), RATE)
    for name, data, told in (
        ("cut.wav", whole[:-40], "it is truncated: 280 of 300 samples"),
        ("silent.wav", wav_bytes(np.zeros(30, np.float32), RATE), "silent.wav is silent"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match=told):
            own.parse(str(tmp_path / name))
    (tmp_path / "good.wav").write_bytes(whole)
    found = own.parse(str(tmp_path / "good.wav"))
    assert found == SoundFile(str(tmp_path / "good.wav"), RATE, 300)
    assert own.describe(own.encode([found])[0]).endswith("good.wav")


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RecipeError, match="leaves gaps between frames"):
        modality(features={"kind": "log-mel", "window": 0.005})
    with pytest.raises(RecipeError, match="there is nothing to hear at a rate of 1000"):
        modality(features={"kind": "log-mel", "high": 800.0})
    with pytest.raises(RecipeError, match=r"of 400 filters lie between two frequencies"):
        modality(features={"kind": "log-mel", "bins": 400})
    with pytest.raises(RecipeError, match="pitch_masks hide bands of pitch"):
        modality(features={"kind": "waveform"}, augmentation={"pitch_masks": 1})
    with pytest.raises(RecipeError, match="is not a range of decibels"):
        modality(augmentation={"noise": [3.0]})
    with pytest.raises(RecipeError, match="time_mask has no effect: with time_masks = 0"):
        modality(augmentation={"time_mask": 3})
    with pytest.raises(OptionError, match=r"set input.seconds if long ones are to be cut"):
        modality().limited(5, "start")
    with pytest.raises(DataError, match=r"an array of shape \(2, 2\) is not a sound"):
        Waveform(np.zeros((2, 2), np.float32), RATE)


def test_shifts_keep_the_length_and_bring_in_silence() -> None:
    samples_N = np.arange(1, 6, dtype=np.float32)
    assert moved(samples_N, 2).tolist() == [0, 0, 1, 2, 3]
    assert moved(samples_N, -1).tolist() == [2, 3, 4, 5, 0]
    assert moved(samples_N, 9).tolist() == [0] * 5
    assert changed_samples(samples_N, 10, Change(moved=0.2)).tolist() == [0, 0, 1, 2, 3]


def test_noise_is_as_strong_as_it_should_be() -> None:
    tone_N = tone_of("low", 10.0)
    noise_N = noise_at(tone_N, 20.0, np.random.default_rng(1))
    ratio = 10 * np.log10(np.mean(tone_N**2) / np.mean(noise_N**2))
    assert abs(ratio - 20) < 0.1


def test_masks_hide_frames_and_bins() -> None:
    values_BTF = torch.ones(2, 4, 3)
    hidden_BTF = hide(values_BTF, [Change(frames=((1, 3),)), Change(bins=((0, 1), (2, 3)))])
    assert hidden_BTF[0].sum(1).tolist() == [3, 0, 0, 3]
    assert hidden_BTF[1].sum(0).tolist() == [0, 4, 0]
    assert hide(values_BTF, [Change(), Change()]) is values_BTF


def test_one_augmentation_alters_no_other() -> None:
    def drawn(**settings: Any) -> Change:
        return parse(Augmentation, settings).draw(30, 5, np.random.default_rng(3))

    both = drawn(shift=0.1, noise=[5.0, 9.0], time_masks=2, pitch_masks=1)
    assert drawn(shift=0.1).moved == both.moved
    assert drawn(noise=[5.0, 9.0]) == Change(noise=both.noise, noise_seed=both.noise_seed)
    assert drawn(time_masks=2).frames == both.frames
    assert drawn(pitch_masks=1).bins == both.bins
    assert drawn() == Change()
    assert all(0 <= start <= stop < 30 for start, stop in both.frames)


def test_the_latest_sounds_are_kept_within_their_room() -> None:
    files = [SoundFile(f"{name}.wav", RATE, 0) for name in "abc"]
    read: list[str] = []

    class Told(SoundFile):
        def samples(self) -> np.ndarray:
            read.append(self.path)
            return np.zeros(100, np.float32)

    cache = Cache(limit=1000)
    sounds = [Told(one.path, RATE, 100) for one in files]
    for sound in (sounds[0], sounds[1], sounds[0], sounds[2], sounds[0], sounds[1]):
        assert len(cache.samples(sound, RATE)) == 100
    assert read == ["a.wav", "b.wav", "c.wav", "b.wav"]  # 400 bytes each: the one that was not asked for made way
    assert cache.size <= 1000


def test_a_sound_can_be_drawn() -> None:
    own = modality(made((2000,)))
    (item,) = own.encode(made((2000,)))
    down_HWC = own.pixels(item)
    across_HWC = modality(features={"kind": "waveform"}).pixels(item)
    assert down_HWC.shape[0] >= 384
    assert down_HWC.shape[1:] == across_HWC.shape[:1] + (3,)
    assert (down_HWC[:, :, 0].T[::-1] == across_HWC[:, :, 0]).all()
