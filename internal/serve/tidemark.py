"""Tidemark in a notebook: one file, and nothing else to install but the library that the answers are wanted in.

    import tidemark
    db = tidemark.connect()                        # $TIDEMARK_URL and $TIDEMARK_TOKEN; or an address, or a warehouse's file
    db.ask("from marts.runs where started_at > $since::timestamptz", since="2026-11-16")
    db.runs()
    db.predict(gpu="H100", catalog_model="llama-3.1-8b", concurrency=64)

Without a connection of their own, tidemark.ask, tidemark.runs and tidemark.predict use the newest one, or make the default one.

Answers are pandas frames; as_="polars" and as_="arrow" give others. Quantities are in base units: db.units says those of the
columns of the last answer, as do frame.attrs["units"] (pandas) and the metadata of each field (Arrow).

    %load_ext tidemark
    %%tidemark gap
    from marts.tpot_gap where run_id = $run

A cell of the magic is a query; $run is the notebook's variable of that name, and the answer is kept in the variable gap.
"""

import atexit
import datetime
import json
import os
import re
import secrets
import shutil
import subprocess
import threading
import urllib.error
import urllib.request

__all__ = ["Connection", "Error", "ask", "connect", "predict", "runs"]

ARROW = "application/vnd.apache.arrow.stream"


class Error(Exception):
    """What the server says of a question, with what to do."""


class Connection:
    """A server of SQL (tidemark serve)."""

    def __init__(self, url, token=None):
        self.url, self.units, self._token = url.rstrip("/"), {}, token

    def ask(self, sql, as_="pandas", **params):
        """The answer to one query. Parameters are bound to $name, never pasted."""
        if as_ not in ("pandas", "polars", "arrow"):
            raise ValueError(f"as_={as_!r}: pandas, polars or arrow")
        import pyarrow

        table = pyarrow.ipc.open_stream(self._post(sql, params)).read_all()
        self.units = {field.name: field.metadata[b"unit"].decode() for field in table.schema if b"unit" in (field.metadata or {})}
        if as_ == "arrow":
            return table
        if as_ == "polars":
            import polars

            return polars.from_arrow(table)
        frame = table.to_pandas()
        frame.attrs["units"] = dict(self.units)
        return frame

    def runs(self, as_="pandas"):
        """The runs, the newest first."""
        return self.ask("from marts.runs order by started_at desc", as_)

    def predict(self, gpu, catalog_model, concurrency=None, request_rate=None, input_tokens=1000, output_tokens=500, cached_tokens=0, as_="pandas", **deployment):
        """What memory bandwidth predicts, as one row. Further arguments are fields of a deployment: tensor_parallel_size, quantization, ..."""
        if concurrency is None and request_rate is None:
            concurrency = 1
        if concurrency is not None and request_rate is not None:
            raise ValueError("concurrency is of a closed loop, request_rate of an open one: give one of them")
        deployment = {"gpu": gpu, "catalog_model": catalog_model, **deployment}
        fields = ", ".join(f"'{name}': ${name}" for name in deployment)  # names are Python's: nothing in them ends a text
        answer = self.ask(
            f"""select p.* from (
                select d, macros.load($input_tokens, $output_tokens, clients := $concurrency, requests_per_s := $request_rate, cached := $cached_tokens) as l
                from macros.deployment({{{fields}}})) as asked
            cross join lateral macros.prediction(asked.d, asked.l) as p""",
            as_, concurrency=concurrency, request_rate=request_rate, input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens, **deployment)
        if len(answer) == 0:
            raise Error(f"no prediction for {deployment}: the catalogue lacks the GPU, the model or a format (from seeds.gpus, from seeds.models)")
        return answer

    def _post(self, sql, params):
        body = json.dumps({"sql": sql, "parameters": {name: _plain(value) for name, value in params.items()}}).encode()
        question = urllib.request.Request(self.url + "/v1/sql", body, {"Content-Type": "application/json", "Accept": ARROW})
        if self._token:
            question.add_unredirected_header("Authorization", "Bearer " + self._token)
        try:
            with urllib.request.urlopen(question) as answer:
                return answer.read()  # http.client raises IncompleteRead for one that the server cut
        except urllib.error.HTTPError as refused:
            text = refused.read().decode(errors="replace")
            try:
                said = json.loads(text)
                text = said["error"] + (f" ({said['hint']})" if said.get("hint") else "")
            except (ValueError, KeyError, TypeError):
                pass
            raise Error(text or f"status {refused.code}") from None
        except urllib.error.URLError as failed:
            raise Error(f"{self.url}: {failed.reason} (is tidemark serve running there?)") from None


def _plain(value):
    """A value as JSON has it: numpy's numbers and pandas' columns as Python's own, times as ISO 8601."""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, (str, bytes)) or value is None:
        return value
    for plainer in ("tolist", "to_list"):
        if hasattr(value, plainer):
            value = getattr(value, plainer)()
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


_last = None


def connect(to=None, token=None):
    """To an address, or to a warehouse's file by a server of its own, which ends with this process; by default to $TIDEMARK_URL."""
    global _last
    to = os.fspath(to or os.environ.get("TIDEMARK_URL") or "tidemark.duckdb")
    if re.match(r"https?://", to):
        _last = Connection(to, token or os.environ.get("TIDEMARK_TOKEN"))
    else:
        _last = _serving(to)
    return _last


def ask(sql, as_="pandas", **params):
    return (_last or connect()).ask(sql, as_, **params)


def runs(as_="pandas"):
    return (_last or connect()).runs(as_)


def predict(*args, **deployment):
    return (_last or connect()).predict(*args, **deployment)


def _serving(warehouse):
    program = shutil.which("tidemark")
    if program is None:
        raise Error("no program tidemark on $PATH: put it there, or name the address of a server")
    token = secrets.token_hex(16)
    server = subprocess.Popen([program, "serve", "--warehouse", warehouse, "--port", "0"], env={**os.environ, "TIDEMARK_TOKEN": token},
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    atexit.register(server.terminate)
    said = ""
    for line in server.stderr:
        said += line
        if found := re.search(r"SQL at (http\S+?)/v1/sql", line):
            threading.Thread(target=server.stderr.read, daemon=True).start()  # a pipe that nobody reads would stop the server
            return Connection(found[1], token)
    raise Error(f"{warehouse}: {said.strip()}")


def load_ipython_extension(ipython):
    """%load_ext tidemark: the cell magic %%tidemark [VARIABLE] [pandas | polars | arrow]."""

    def magic(line, cell):
        words = line.split()
        as_ = words.pop() if words and words[-1] in ("pandas", "polars", "arrow") else "pandas"
        if len(words) > 1 or words and not words[0].isidentifier():
            raise ValueError("%%tidemark [VARIABLE] [pandas | polars | arrow]")
        known = ipython.user_ns
        params = {name: known[name] for name in re.findall(r"\$([A-Za-z_]\w*)", cell) if name in known}
        answer = ask(cell, as_, **params)
        if words:
            known[words[0]] = answer
        return answer

    ipython.register_magic_function(magic, "cell", "tidemark")
