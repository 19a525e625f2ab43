"""Rankings of live models: their answers and attributions, asked once and kept, for `oodometer.rankings`."""
