"""Audio: sounds found in folders or tables, checked once, resampled, read as a spectrogram or as a waveform."""
