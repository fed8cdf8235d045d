"""Speed and calibration, as ratios against named references measured in the same run: ``make bench``."""
