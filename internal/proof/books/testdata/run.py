"""Runs one notebook in a Jupyter kernel without a screen, and keeps it with its outputs and its pictures.

    run.py NOTEBOOK FOLDER

The last line is that of outputs.py. A cell that fails ends it with that cell's error.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from outputs import say

notebook, folder = Path(sys.argv[1]), Path(sys.argv[2])
book = nbformat.read(notebook, as_version=4)
nbformat.validate(book)
left = [cell["id"] for cell in book.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]
if left:
    sys.exit(f"{notebook.name}: cells {left} were committed with outputs: clear them")

# A machine may be busy; nothing is judged by these limits, in seconds.
NotebookClient(book, timeout=300, iopub_timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
nbformat.write(book, folder / notebook.name)
say(book, notebook.stem, folder)
