"""The process that holds the embedded model: a chat endpoint on a free port of the loopback interface.

It is started by `registry.local.serve` as a file and imports nothing of ours, so neither the folder that the user works in
nor the way dagwright was installed can get between. It says `{"url": ...}` on stdout when it is ready, once, and ends when
its stdin does: the kernel closes that pipe however the parent dies.
"""

import json
import os
import signal
import sys
from importlib import import_module
from typing import Any

ERRORS_ONLY = 1
"""How much the engine logs."""
LONGEST_REPLY = 1024
"""Tokens of a reply for which nobody set a cap: small models go on for ever when they lose the thread."""
JUST_SAID = 128
"""Tokens within which the model may not repeat itself."""
MOST_THREADS = 4
SPINS = "1000"
"""How often a waiting thread looks before it sleeps: short enough to share the cores, long enough to cost no speed."""


def parameters(llama: Any, weights: str, *, window: int, slots: int) -> Any:
    """How the engine is to run: `slots` requests side by side, each with `window` tokens to itself."""
    chosen = llama.CommonParams()
    chosen.model.path = weights
    chosen.model_alias = {"smollm2-135m-instruct"}
    chosen.n_parallel = slots
    chosen.n_ctx = window * slots
    chosen.n_predict = LONGEST_REPLY
    # All slots advance together, one token each a round, so the threads are shared and not divided among them.
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = threads
    # Where a request does not say otherwise: so small a model is at its best when it takes the likeliest word, and is kept
    # from saying again what it has just said. It may still copy from a text that lies further back.
    chosen.sampling.temp = 0.0
    chosen.sampling.dry_multiplier, chosen.sampling.dry_allowed_length = 1.0, 6
    chosen.sampling.dry_penalty_last_n = JUST_SAID
    chosen.cache_ram_mib = 0
    chosen.fit_params = chosen.warmup = chosen.ui = chosen.endpoint_slots = False
    # No web page may talk to it.
    chosen.cors_origins = "http://localhost"
    chosen.verbosity = ERRORS_ONLY
    return chosen


def main(weights: str, window: str, slots: str) -> None:
    """Serves until stdin ends. Ctrl-C in the terminal reaches this process too, but it is the parent who decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Stdout is for the one line; whatever the engine prints there goes to stderr.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as announce:
        os.dup2(2, 1)
        # Threads that wait for each other spin by default, and starve whoever shares the cores: two such servers come to a halt.
        os.putenv("GOMP_SPINCOUNT", SPINS)
        llama = import_module("xllamacpp")
        server = llama.Server(parameters(llama, weights, window=int(window), slots=int(slots)))
        server.handle_chat_completions({"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
        announce.write(json.dumps({"url": server.listening_address}) + "\n")
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
