"""`vllm serve` for the tests: its engine process is forked, not spawned, and it ends with its stdin.

    VLLM_ENABLE_V1_MULTIPROCESSING=0 python serve.py serve MODEL --distributed-executor-backend uni ...

Importing vLLM takes a core some 16 s. Spawned, the processes of a server import one after the other; forked, they share
the first import, and the server is ready in less than half the time. Behaviour and speed are the same but for one thing:
after SIGTERM, streams in flight are left open without a byte, so the tests do not stop a server that is serving.
"""

import multiprocessing
import os
import signal
import sys
import threading

import vllm.utils.system_utils as system_utils

# Before anything else copies the function.
system_utils.get_mp_context = lambda: multiprocessing.get_context("fork")

from vllm.entrypoints.cli.main import main  # noqa: E402


def end_with_stdin():
    """However the test that holds the other end dies, no server is left behind."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.argv[0] = "vllm"
    threading.Thread(target=end_with_stdin, daemon=True).start()
    main()
