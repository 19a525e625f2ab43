"""Tutorials: run the notebooks of docs/tutorials again, and write what they print back into them, all or none.

    python scripts/tutorials.py            # every notebook
    python scripts/tutorials.py sequence   # those whose name holds the word

Each runs in an empty folder with the commands of this Python first on the path. What is kept of a notebook is its
cells, what they print and the name of the kernel: no times, no ids of cells that change, nothing of this machine.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
MOST_SECONDS = 300


def notebooks(word: str = "") -> list[Path]:
    """The notebooks whose name holds the word, by name."""
    return sorted(path for path in FOLDER.glob("*.ipynb") if word in path.stem)


def executed(path: Path) -> Any:
    """The notebook with the outputs of a new run; raises nbclient's `CellExecutionError` where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    bin_folder = str(Path(sys.executable).parent)
    # Plain text, 80 columns wide, on the processor, whatever terminal this is.
    settings = {
        "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")]),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONWARNINGS": "ignore:IProgress not found",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
        client = NotebookClient(
            notebook,
            timeout=MOST_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of Jupyter's own machinery
            client.execute(env={**os.environ, **settings})
    return tidied(notebook)


def tidied(notebook: Any) -> Any:
    """Without what changes from run to run or from machine to machine."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number:02}"
        cell.metadata = nbformat.from_dict(
            {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        )
        if cell.cell_type == "code":
            cell.outputs = [one for one in map(_plain, joined(cell.outputs)) if one is not None]
    return notebook


def joined(outputs: list[Any]) -> list[Any]:
    """Streams of the same name that follow each other as one; how they come apart differs from run to run."""
    out: list[Any] = []
    for one in outputs:
        if out and one.output_type == "stream" == out[-1].output_type and one.name == out[-1].name:
            out[-1].text += one.text
        else:
            out.append(one)
    return out


def _plain(output: Any) -> Any:
    """An output without colours, carriage returns and lines of progress."""
    if output.output_type == "stream":
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.text.replace("\r\n", "\n"))
        output.text = re.sub(
            r"^predicting: \d+\n", "", plain, flags=re.MULTILINE
        )  # where ten seconds are over
    return output


def main(words: list[str]) -> None:
    """Run them all, then write them all."""
    chosen = sorted({path for word in words or [""] for path in notebooks(word)})
    if not chosen:
        sys.exit(f"no notebook in {FOLDER} is called so")
    texts = {}
    for path in chosen:
        began = time.monotonic()
        texts[path] = nbformat.writes(executed(path), indent=1) + "\n"
        print(f"{path.name}: {time.monotonic() - began:.1f} s", flush=True)
    for (
        path,
        text,
    ) in texts.items():  # each beside its place first, so that no half a notebook stays
        path.with_suffix(".part").write_text(text, encoding="utf-8")
    for path in texts:
        path.with_suffix(".part").replace(path)


if __name__ == "__main__":
    main(sys.argv[1:])
