#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that no one here wrote, unmodified, on graft's libraries.

drop-in   the peer's binaries, built against its own libraries, run with ours by library path alone; no other libggml is mapped
system    llama.cpp built with LLAMA_USE_SYSTEM_GGML=ON against an installed graft
right     mean divergence from the F32 model and perplexity, at most the peer's, on both models
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import peer  # noqa: E402

TEXT = "/usr/share/common-licenses/GPL-3"


class Results:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, ok, text=""):
        self.passed += ok
        self.failed += not ok
        print(f"{'ok    ' if ok else 'FAILED'} {name}{': ' + text if text else ''}", flush=True)


def build_and_install():
    """Graft in release form; returns its library folder and the installed prefix."""
    build, prefix = os.path.join(ROOT, "build"), os.path.join(ROOT, "build-prefix")
    peer.run(["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DGRAFT_TESTS=OFF"])
    peer.run(["cmake", "--build", build, "-j", str(os.cpu_count() or 2)])
    shutil.rmtree(prefix, ignore_errors=True)
    peer.run(["cmake", "--install", build, "--prefix", prefix])
    return os.path.join(build, "lib"), prefix


def only_ours(mapped, libraries):
    folder = os.path.realpath(libraries)
    strangers = [m for m in mapped if os.path.dirname(m) != folder]
    return mapped and not strangers, ", ".join(strangers) or f"{len(mapped)} libraries of graft"


def drop_in(results, binaries, libraries):
    model = peer.model("smollm2")
    runs = {
        "llama-completion": (["-m", model, "-p", "The capital of France is", "-n", "8", "-t", "2", "--temp", "0", "-no-cnv"], r"Paris"),
        "llama-bench": (["-m", model, "-p", "64", "-n", "8", "-t", "2", "-r", "1"], r"tg8"),
        "llama-perplexity": (["-m", model, "-f", TEXT, "-c", "512", "-t", "2", "--chunks", "1"], r"Final estimate"),
        "test-thread-safety": (["-m", model, "-ngl", "0", "-p", "The meaning of life is", "-n", "24", "-c", "256", "-ub", "32", "-np", "4", "-t", "2"], None),
        "test-alloc": ([], None),
    }
    for name, (arguments, pattern) in runs.items():
        code, text, mapped = peer.mapped_ggml([os.path.join(binaries, name), *arguments], libraries)
        ok, which = only_ours(mapped, libraries)
        results.check(f"drop-in {name}", code == 0 and (pattern is None or re.search(pattern, text) is not None), "" if code == 0 else text[-500:])
        results.check(f"drop-in {name} maps only graft", ok, which)
        warned = re.search(r".*(compute buffer size|graph).*(changed|mismatch|does not match).*", text)
        results.check(f"drop-in {name} sizes stay", warned is None, warned.group(0) if warned else "")


def system(results, prefix):
    binaries = peer.build("build-system", ["-DLLAMA_USE_SYSTEM_GGML=ON", f"-DCMAKE_PREFIX_PATH={prefix}", "-DLLAMA_BUILD_TESTS=OFF"],
                          ["llama-completion", "llama-bench"])
    libraries = next(os.path.join(prefix, d) for d in ("lib", "lib64", "lib/x86_64-linux-gnu") if os.path.exists(os.path.join(prefix, d, "libggml.so")))
    code, text, mapped = peer.mapped_ggml([os.path.join(binaries, "llama-completion"), "-m", peer.model("smollm2"), "-p", "The capital of France is",
                                           "-n", "8", "-t", "2", "--temp", "0", "-no-cnv"], libraries)
    ok, which = only_ours(mapped, libraries)
    results.check("system ggml: llama-completion", code == 0 and "Paris" in text, "" if code == 0 else text[-500:])
    results.check("system ggml: maps only graft", ok, which)


def divergence(binaries, libraries, model, base, extra):
    """(mean divergence, perplexity) of a quantized model against the kept F32 result."""
    command = [os.path.join(binaries, "llama-perplexity"), "-m", model, "-f", TEXT, "-c", "512", "-t", "2", "--kl-divergence-base", base, "--kl-divergence", *extra]
    p = subprocess.run(command, capture_output=True, text=True, errors="replace", env=peer.environment(libraries), stdin=subprocess.DEVNULL, check=False)
    text = p.stdout + p.stderr
    kld = re.search(r"Mean\s+KLD:\s+(-?[\d.]+)", text)
    ppl = re.search(r"Mean PPL\(Q\)\s*:\s+([\d.]+)", text)
    base_ppl = re.search(r"Mean PPL\(base\)\s*:\s+([\d.]+)", text)
    if not (kld and ppl and base_ppl):
        raise SystemExit(text[-2000:])
    return float(kld.group(1)), abs(float(ppl.group(1)) - float(base_ppl.group(1)))


def right(results, binaries, libraries, chunks, one_row):
    for name in peer.MODELS:
        model = peer.model(name)
        exact, base = os.path.join(peer.FOLDER, name + "-f32.gguf"), os.path.join(peer.FOLDER, f"{name}-{chunks or 'all'}.kld")
        limit = ["--chunks", str(chunks)] if chunks else []
        if not os.path.exists(exact):
            peer.run([os.path.join(binaries, "llama-quantize"), "--allow-requantize", model, exact, "F32"], env=peer.environment(None))
        if not os.path.exists(base):
            peer.run([os.path.join(binaries, "llama-perplexity"), "-m", exact, "-f", TEXT, "-c", "512", "-t", "2", "--kl-divergence-base", base, *limit], env=peer.environment(None))
        for label, extra in [("default batch", []), ("one row at a time", ["-b", "1", "-ub", "1"])]:
            if extra and not one_row:
                continue
            for pack, flag in (("packed", []), ("not packed", ["--no-repack"])):
                ours = divergence(binaries, libraries, model, base, extra + flag + limit)
                theirs = divergence(binaries, None, model, base, extra + flag + limit)
                results.check(f"right {name}, {label}, {pack}", ours[0] <= theirs[0] and ours[1] <= theirs[1],
                              f"divergence {ours[0]:.6f} (peer {theirs[0]:.6f}), perplexity off by {ours[1]:.4f} (peer {theirs[1]:.4f})")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", action="append", choices=["drop-in", "system", "right"])
    ap.add_argument("--chunks", type=int, default=0, help="of the text in the divergence test (all)")
    ap.add_argument("--no-one-row", action="store_true", help="leave out -b 1 -ub 1, which takes long")
    args = ap.parse_args()
    wanted = args.only or ["drop-in", "system", "right"]
    if not peer.have_compiler():
        raise SystemExit("clang-16 is needed to build the peer")
    results = Results()
    libraries, prefix = build_and_install()
    binaries = peer.build()
    if "drop-in" in wanted:
        drop_in(results, binaries, libraries)
    if "system" in wanted:
        system(results, prefix)
    if "right" in wanted:
        right(results, binaries, libraries, args.chunks, not args.no_one_row)
    print(f"{results.passed} passed, {results.failed} failed, 0 skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
