#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The words of the command: help, versions, wrong use, what devices and info print.

Usage: test_usage.py BUILD_FOLDER
"""
import pathlib
import re
import subprocess
import tempfile

from support import GRAFT, NOISE, Report, check_error, graft

import make_tiny_llama


def helps(report):
    for words in (["--help"], ["-h"], ["help"]):
        r = graft(*words)
        report.check(r.code == 0 and all(c in r.out for c in ("run", "info", "devices")) and r.err == "", f"graft {words[0]}", str(r))
    r = graft("--version")
    report.check(r.code == 0 and re.fullmatch(r"graft \d+\.\d+\.\d+, interface of ggml 0\.25\.3\n", r.out) is not None, "graft --version", str(r))
    for command, words in (("run", ["--prompt", "--threads", "--context", "--batch", "--temperature", "--seed", "--system", "--raw", "--json", "--predict"]),
                           ("info", ["--json", "--tensors"]), ("devices", ["--json", "--kernels"])):
        r = graft(command, "--help")
        report.check(r.code == 0 and all(w in r.out for w in words) and r.err == "", f"graft {command} --help", str(r))
        report.check(all(len(line) <= 80 for line in r.out.splitlines()), f"graft {command} --help fits 80 columns", r.out)
    r = graft()
    report.check(r.code == 2 and "Usage" in r.err and r.out == "", "graft alone is wrong use", str(r))


def wrong_use(report):
    for words, pattern in ((["bogus"], "bogus"), (["run"], "a model is expected"), (["run", "x.gguf"], "a prompt is expected"),
                           (["run", "x.gguf", "y.gguf", "-p", "x"], "y.gguf"), (["run", "x.gguf", "-p", ""], "prompt is empty"),
                           (["info"], "a file is expected"), (["info", "a", "b"], "'b'"), (["devices", "x"], "'x'")):
        check_error(report, " ".join(["graft", *words]), graft(*words), 2, pattern)
    for option, value, pattern in (("--threads", "100000", "from 1 to 512"), ("--threads", "0", "from 1 to 512"), ("--threads", "-1", "-1"),
                                   ("--threads", "two", "'two'"), ("--threads", "2x", "'2x'"), ("--context", "0", "--context"),
                                   ("--context", "99999999999999999999", "--context"), ("--batch", "0", "--batch"), ("--predict", "-5", "--predict"),
                                   ("--temperature", "nan", "--temperature"), ("--temperature", "-1", "--temperature"),
                                   ("--temperature", "hot", "'hot'"), ("--seed", "x", "--seed")):
        check_error(report, f"{option} {value}", graft("run", "x.gguf", "-p", "x", f"{option}={value}"), 2, pattern)
    for command in ("run", "info", "devices"):
        r = graft(command, "--no-such-option")
        report.check(r.code == 2 and "no-such-option" in r.err and r.out == "" and not NOISE.search(r.err), f"graft {command}: unknown option", str(r))


def devices(report):
    r = graft("devices")
    report.check(r.code == 0 and r.err == "" and re.search(r"^CPU\b", r.out, re.MULTILINE) is not None, "graft devices", str(r))
    report.check(all(len(line) <= 80 for line in r.out.splitlines()), "graft devices fits 80 columns", r.out)
    r = graft("devices", "--kernels")
    report.check(r.code == 0 and "MUL_MAT" in r.out and "MICRO-KERNEL" in r.out, "graft devices --kernels", str(r))
    r = graft("devices", "--json")
    cpu = next((d for d in r.json() or [] if d["name"] == "CPU"), None)
    if report.check(r.code == 0 and cpu is not None, "graft devices --json", str(r)):
        report.check(cpu["memory_total"] >= cpu["memory_free"] > 0, "devices: memory", str(cpu)[:300])
        report.check(all(v == "1" or v.isdigit() for v in cpu["features"].values()), "devices: features", str(cpu["features"]))
        report.check(len(cpu["kernels"]) > 20 and all(k["name"] and k["operator"] for k in cpu["kernels"]), "devices: kernels")
        report.check(len(cpu["micro_kernels"]) > 20, "devices: micro-kernels", str(len(cpu["micro_kernels"])))
    r = graft("devices", "--json", env={"GRAFT_CPU": "scalar"})
    cpu = (r.json() or [{}])[0]
    report.check(set(cpu.get("micro_kernels", {}).values()) == {"scalar"}, "devices: GRAFT_CPU=scalar chooses scalar micro-kernels", str(r)[:300])


def info(report, folder):
    path = folder / "tiny.gguf"
    make_tiny_llama.write(path)
    r = graft("info", path)
    report.check(r.code == 0 and r.err == "" and "general.architecture" in r.out and "llama" in r.out, "graft info", str(r))
    report.check("blk.0.attn_q.weight" not in r.out, "graft info lists no tensors")
    r = graft("info", "--tensors", path)
    report.check(r.code == 0 and re.search(r"blk\.0\.ffn_down\.weight +f32 +128 x 64 +32\.0 KiB", r.out) is not None, "graft info --tensors", str(r))
    r = graft("info", "--json", path)
    found = r.json()
    if report.check(r.code == 0 and found is not None, "graft info --json", str(r)):
        keys = {k["key"]: k for k in found["keys"]}
        report.check(keys["llama.block_count"]["value"] == 2, "info: an integer", str(keys["llama.block_count"]))
        report.check(keys["tokenizer.ggml.add_bos_token"]["value"] is False, "info: a truth value")
        report.check(abs(keys["llama.attention.layer_norm_rms_epsilon"]["value"] - 1e-5) < 1e-12, "info: a real number")
        report.check(keys["tokenizer.ggml.tokens"]["elements"] == 3 + 256 + 15, "info: an array", str(keys["tokenizer.ggml.tokens"]))
        report.check("<|im_start|>" in keys["tokenizer.chat_template"]["value"], "info: a string")
        tensors = {t["name"]: t for t in found["tensors"]}
        report.check(tensors["blk.1.ffn_up.weight"]["shape"] == [64, 128, 1, 1], "info: a shape", str(tensors["blk.1.ffn_up.weight"]))
        report.check(tensors["blk.1.ffn_up.weight"]["bytes"] == 64 * 128 * 4, "info: a size")
    hostile(report, folder)


def hostile(report, folder):
    """Strings of a file reach terminal and JSON without harm."""
    import gguf
    path = folder / "strings.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("escape", "a\x1b[31mb\x07c")
    writer.add_string("binary", b"\xff\xfe\x80abc\xe4\xb8")
    writer.add_string("long", "é" * 5000)
    writer.add_float32("infinite", float("inf"))
    writer.add_float64("none", float("nan"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    r = graft("info", path)
    report.check(r.code == 0 and b"\x1b" not in r.bytes and b"\x07" not in r.bytes, "info: control characters are not printed", str(r))
    r = graft("info", "--json", path)
    found = {k["key"]: k.get("value") for k in (r.json() or {"keys": []})["keys"]}
    report.check(found.get("escape") == "a\x1b[31mb\x07c", "info --json: control characters are escaped", str(r))
    report.check(found.get("binary") == "\ufffd\ufffd\ufffdabc\ufffd", "info --json: bytes that are no UTF-8", repr(found.get("binary")))
    report.check(found.get("long") == "é" * 5000, "info --json: a long string is whole")
    report.check("infinite" in found and found["infinite"] is None and found["none"] is None, "info --json: no infinity in JSON", str(r)[:300])


def outputs(report):
    with open("/dev/full", "w") as full:
        p = subprocess.run([str(GRAFT), "devices"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    report.check(p.returncode == 1 and len(p.stderr.splitlines()) == 1 and "No space left" in p.stderr, "a full disk is a failure", p.stderr)
    p = subprocess.run(f"'{GRAFT}' devices --kernels | head -n 1", shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    report.check(p.stderr == "" and p.stdout.startswith("DEVICE"), "a reader that goes away needs no words", p.stderr)


def main():
    report = Report()
    helps(report)
    wrong_use(report)
    devices(report)
    with tempfile.TemporaryDirectory() as name:
        info(report, pathlib.Path(name))
    outputs(report)
    report.end()


if __name__ == "__main__":
    main()
