"""Speed, as ratios measured side by side in one run: `make bench`. Timings never decide a test."""
