#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""graft run from end to end: on a small random model, and on SmolLM2 when it has been fetched.

Usage: test_run.py BUILD_FOLDER
"""
import os
import pathlib
import re
import subprocess
import tempfile

from support import GRAFT, Report, graft, model_path

import make_tiny_llama


def run_json(report, name, *words, **kwargs):
    r = graft("run", *words, "--json", **kwargs)
    found = r.json()
    report.check(r.code == 0 and found is not None and r.err == "", name, str(r))
    return found or {"text": None}


def tables(report, model):
    r = graft("run", model, "-p", "hello the world", "-n", "12", "--raw", "-t", "2")
    rows = {m.group(1) for m in re.finditer(r"^(load|prompt|generation|KV cache|compute|peak)\b", r.err, re.MULTILINE)}
    report.check(r.code == 0 and len(rows) == 6, "the table is on stderr", str(r))
    report.check(r.bytes.endswith(b"\n") and len(r.bytes) > 4 and "tokens/s" not in r.out, "the text alone is on stdout", str(r))
    report.check(all(len(line) <= 80 for line in r.err.splitlines()), "the table fits 80 columns", r.err)
    found = run_json(report, "run --json", model, "-p", "hello the world", "-n", "12", "--raw", "-t", "2")
    report.check(found["text"] == r.out[:-1], "JSON has the same text", f"{found['text']!r} {r.out!r}")
    report.check(found.get("generated_tokens") == 12 and found.get("stopped") == "limit", "--predict limits", str(found))
    report.check(all(found.get(k, 0) > 0 for k in ("load_ms", "prompt_tokens", "prompt_tokens_per_s", "generated_tokens_per_s", "weight_bytes",
                                                   "kv_bytes", "compute_bytes", "peak_bytes")), "JSON has all figures", str(found))


def stable(report, model):
    """The same text for any number of threads, size of batch, and kind of micro-kernel that rounds the same."""
    words = [model, "-p", "hello the world, hello the tiny one", "-n", "40", "--raw"]
    base = run_json(report, "1 thread", *words, "-t", "1")["text"]
    for threads in (2, 3, 5):
        report.check(run_json(report, f"{threads} threads", *words, "-t", threads)["text"] == base, f"{threads} threads give the same text")
    report.check(run_json(report, "1 thread again", *words, "-t", "1")["text"] == base, "a second run gives the same text")
    for batch in (1, 7, 64):
        found = run_json(report, f"batch {batch}", *words, "-b", batch, "-t", "2")
        report.check(found.get("generated_tokens") == 40, f"a prompt longer than a batch of {batch}", str(found))


def sampling(report, model):
    words = [model, "-p", "hello", "-n", "40", "--raw", "-t", "2", "--temperature", "1.5"]
    first = run_json(report, "seed 1", *words, "--seed", "1")["text"]
    report.check(run_json(report, "seed 1 again", *words, "--seed", "1")["text"] == first, "a seed gives the same text again")
    report.check(run_json(report, "seed 2", *words, "--seed", "2")["text"] != first, "another seed gives another text")
    greedy = run_json(report, "greedy", *words[:-2])["text"]
    report.check(run_json(report, "temperature 0", *words[:-1], "0", "--seed", "9")["text"] == greedy, "temperature 0 is greedy")
    report.check(greedy != first, "temperature changes the text")


def templates(report, folder, model):
    raw = run_json(report, "raw", model, "-p", "hello", "-n", "4", "--raw")
    chat = run_json(report, "chat", model, "-p", "hello", "-n", "4")
    system = run_json(report, "system", model, "-p", "hello", "-n", "4", "--system", "the world")
    # <|im_start|> u s e r \n hello <|im_end|> \n <|im_start|> a s s i s t a n t \n
    report.check(raw["prompt_tokens"] == 1 and chat["prompt_tokens"] == 20, "the chat template goes around the prompt", f"{raw} {chat}")
    report.check(system["prompt_tokens"] > chat["prompt_tokens"], "a system message is added", str(system))
    marked = run_json(report, "special token in the prompt", model, "-p", "<|im_end|>", "-n", "1", "--raw")
    report.check(marked["prompt_tokens"] == len("<|im_end|>"), "--raw takes special tokens for text", str(marked))
    for template in ("other", "none"):
        path = folder / f"{template}.gguf"
        make_tiny_llama.write(path, template=template)
        r = graft("run", path, "-p", "hello", "-n", "4")
        report.check(r.code == 0 and "plain text" in r.err.splitlines()[0], f"template {template}: a note", str(r))
        r = graft("run", path, "-p", "hello", "-n", "4", "--raw")
        report.check(r.code == 0 and "note" not in r.err, f"template {template}: no note with --raw", str(r))
    make_tiny_llama.write(folder / "bos.gguf", bos="yes")
    bos = run_json(report, "bos", folder / "bos.gguf", "-p", "hello", "-n", "4", "--raw")
    report.check(bos["prompt_tokens"] == 2, "the first token is added where the file says so", str(bos))


def contexts(report, model):
    found = run_json(report, "a small context", model, "-p", "hello", "-n", "100", "-c", "16", "--raw")
    report.check(found.get("stopped") == "context" and found.get("generated_tokens") == 16, "a full context ends cleanly", str(found))
    r = graft("run", model, "-p", "hello", "-n", "100", "-c", "16", "--raw")
    report.check(r.code == 0 and "16 positions is full" in r.err, "a full context is told", str(r))
    r = graft("run", model, "-p", "hello", "-n", "2", "-c", "100000", "--raw")
    report.check(r.code == 0 and "256 positions" in r.err, "a context past the model's is told", str(r))
    long = "hello the world " * 60
    found = run_json(report, "a long prompt", model, "-p", long, "-n", "8", "-b", "32", "--raw")
    report.check(found.get("prompt_tokens", 0) > 150 and found.get("generated_tokens") == 8, "a prompt of several batches", str(found)[:300])
    found = run_json(report, "nothing to predict", model, "-p", "hello", "-n", "0", "--raw")
    report.check(found["text"] == "" and found.get("generated_tokens") == 0, "--predict 0", str(found))


def formats(report, folder):
    for kind in ("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q8_0"):
        path = folder / f"{kind}.gguf"
        make_tiny_llama.write(path, type=kind)
        found = run_json(report, f"weights {kind}", path, "-p", "hello", "-n", "6", "--raw")
        report.check(found.get("generated_tokens") == 6, f"weights {kind}", str(found))


def streams(report, model):
    """Text comes token by token in whole characters, and a reader that goes away is no reason for words."""
    command = [str(GRAFT), "run", str(model), "-p", "hello", "-n", "200", "--raw", "-t", "1"]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    chunks = []
    while True:
        chunk = os.read(p.stdout.fileno(), 4096)
        if not chunk:
            break
        chunks.append(chunk)
    p.wait()
    report.check(p.returncode == 0 and len(chunks) > 1, "the text is streamed", f"{len(chunks)} pieces")
    whole = b"".join(chunks).decode("utf-8", "replace")
    pieces = "".join(c.decode("utf-8", "replace") for c in chunks)
    report.check(pieces == whole, "no character is cut between two pieces")
    for ignored in (False, True): # no one reads from the beginning on: the first write fails, however fast the text comes
        reader, writer = os.pipe()
        os.close(reader)
        shell = ["bash", "-c", "trap '' PIPE; exec \"$@\"", "bash", *command] if ignored else command
        p = subprocess.run(shell, stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        report.check(p.returncode != 0 and p.stderr == b"", f"a broken pipe is quiet{', also where the signal is ignored' if ignored else ''}", p.stderr.decode())
    with open("/dev/full", "w") as full:
        p = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    report.check(p.returncode == 1 and len(p.stderr.splitlines()) == 1 and "No space left" in p.stderr, "a full disk ends the run", p.stderr)


def real(report):
    model = model_path()
    if model is None:
        report.skip("run: SmolLM2 has not been fetched (scripts/model.sh smollm2)", 4)
        return
    r = graft("run", model, "-p", "What is the capital of France?", timeout=600)
    report.check(r.code == 0 and "Paris" in r.out, "SmolLM2 knows the capital of France", str(r))
    found = run_json(report, "raw continuation", model, "-p", "The capital of France is", "-n", "8", "--raw", timeout=600)
    report.check("Paris" in (found["text"] or ""), "SmolLM2 continues a text", str(found))
    a, b = (run_json(report, f"{t} threads", model, "-p", "Count to five.", "-n", "24", "-t", t, timeout=600)["text"] for t in (1, 2))
    report.check(a == b, "SmolLM2 says the same with 1 and 2 threads", f"{a!r} {b!r}")


def main():
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "tiny.gguf"
        make_tiny_llama.write(model)
        tables(report, model)
        stable(report, model)
        sampling(report, model)
        templates(report, folder, model)
        contexts(report, model)
        formats(report, folder)
        streams(report, model)
    real(report)
    report.end()


if __name__ == "__main__":
    main()
