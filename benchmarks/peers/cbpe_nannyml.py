"""NannyML: CBPE accuracy of the target, from the wide Parquet files of a case.

Options: `chunks=N` (its default is 10) and `metrics=accuracy,f1,...` (default accuracy). The clock runs over
`fit` and `estimate`, which are also given apart; importing and reading files are outside it.
"""

from __future__ import annotations

import os
import time

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"

import pandas as pd
from nannyml import CBPE

from benchmarks import probe


def main() -> None:
    """Read both frames, then time fit + estimate."""
    args = probe.arguments("cbpe")
    reference = pd.read_parquet(args.folder / "reference_wide.parquet")
    target = pd.read_parquet(args.folder / "target_wide.parquet")
    classes = {int(name[5:]): name for name in reference.columns if name.startswith("prob_")}
    chunks = args.options.get("chunks")
    metrics = args.options.get("metrics", "accuracy").split(",")

    def job() -> dict[str, object]:
        start = time.perf_counter()
        estimator = CBPE(
            metrics=metrics,
            y_pred_proba=classes,
            y_pred="y_pred",
            y_true="y_true",
            problem_type="classification_multiclass",
            chunk_number=int(chunks) if chunks else None,
        )
        estimator.fit(reference)
        fitted = time.perf_counter()
        found = estimator.estimate(target).filter(period="analysis").to_df()
        done = time.perf_counter()
        rows = found["chunk", "end_index"] - found["chunk", "start_index"] + 1
        return {"value": float((found["accuracy", "value"] * rows).sum() / rows.sum()), "chunks": len(found),
            "fit_seconds": fitted - start, "estimate_seconds": done - fitted}  # fmt: skip

    probe.report(job, args.runs, ("nannyml", "pandas", "numpy", "scikit-learn"))


if __name__ == "__main__":
    main()
