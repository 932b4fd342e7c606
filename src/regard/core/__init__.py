"""What everybody shares: configuration base, the seams, taps, atomic files, errors, the shape legend."""
