"""NannyML on the car loans of its own samples: `python -m benchmarks.peers.loan`, a whole process as a user writes it.

Reads the labelled and the later 50,000 loans that ship with oodometer, fits CBPE on the first and prints its estimate
of the accuracy of the second, whose labels it never sees.
"""

from __future__ import annotations

import os
from pathlib import Path

TABLES = Path(__file__).parents[2] / "src/oodometer/datasets/tables/car-loan"


def main() -> None:
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
    import pandas as pd
    from nannyml import CBPE

    reference, target = (pd.read_parquet(TABLES / f"{name}.parquet") for name in ("reference", "target"))  # fmt: skip
    estimator = CBPE(metrics=["accuracy"], y_pred_proba="y_pred_proba", y_pred="y_pred", y_true="repaid",
        problem_type="classification_binary", chunk_number=10)  # fmt: skip
    estimator.fit(reference)
    found = estimator.estimate(target).filter(period="analysis").to_df()
    print(found["accuracy", "value"].mean())


if __name__ == "__main__":
    main()
