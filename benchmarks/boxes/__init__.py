"""Black boxes: exact, kinked, deep, noisy, real."""
