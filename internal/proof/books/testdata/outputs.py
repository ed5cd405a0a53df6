"""What an executed notebook shows: its pictures as files, and the figure of its last cell.

    outputs.py NOTEBOOK FOLDER

The last line is JSON. A cell that failed ends it with that cell's error.
"""

import base64
import html
import json
import re
import sys
from pathlib import Path

import nbformat


def of(output):
    """The text of a figure; marimo wraps it into HTML."""
    data = output.get("data", {})
    if "text/plain" in data:
        return data["text/plain"]
    return html.unescape(re.sub("<[^>]*>", "", data.get("text/html", "")))


def say(book, name, folder):
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    pictures = []
    for output in (output for cell in code for output in cell.outputs):
        if output.output_type == "error":
            sys.exit(f"{name}: {output.ename}: {output.evalue}")
        if "image/png" in output.get("data", {}):
            pictures.append(str(folder / f"{name}-{len(pictures)}.png"))
            Path(pictures[-1]).write_bytes(base64.b64decode(output["data"]["image/png"]))
    shown = [of(output) for output in code[-1].outputs if output.output_type in ("execute_result", "display_data")]
    print(json.dumps({"shown": shown, "pictures": pictures}))


if __name__ == "__main__":
    notebook = Path(sys.argv[1])
    say(nbformat.read(notebook, as_version=4), notebook.stem, Path(sys.argv[2]))
