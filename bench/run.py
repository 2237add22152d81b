#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama-bench on graft's libraries beside the peer's own, alternating: the ratio of medians and its spread."""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import peer  # noqa: E402


def measure(bench, libraries, model, prompt, generate, threads):
    command = [bench, "-m", model, "-p", str(prompt), "-n", str(generate), "-t", str(threads), "-r", "1", "-o", "json"]
    p = subprocess.run(command, capture_output=True, text=True, env=peer.environment(libraries), check=False)
    if p.returncode != 0:
        raise SystemExit(p.stderr[-2000:])
    return {("prompt" if t["n_prompt"] else "generation"): t["avg_ts"] for t in json.loads(p.stdout)}


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--libraries", default=os.path.join(ROOT, "build", "lib"), help="graft's libraries")
    ap.add_argument("--models", nargs="*", default=list(peer.MODELS), choices=list(peer.MODELS))
    ap.add_argument("--alternations", type=int, default=7)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--prompt", type=int, default=512)
    ap.add_argument("--generate", type=int, default=64)
    ap.add_argument("--json", action="store_true", help="print JSON")
    args = ap.parse_args()
    bench = os.path.join(peer.build(), "llama-bench")
    results = []
    for name in args.models:
        model = peer.model(name)
        samples = {"graft": {"prompt": [], "generation": []}, "peer": {"prompt": [], "generation": []}}
        for i in range(args.alternations):
            for side, libraries in (("graft", args.libraries), ("peer", None)):
                if sys.stderr.isatty():
                    print(f"\r{name}: {i + 1} of {args.alternations}, {side}   ", end="", file=sys.stderr)
                for what, rate in measure(bench, libraries, model, args.prompt, args.generate, args.threads).items():
                    samples[side][what].append(rate)
        for what in ("prompt", "generation"):
            ours, theirs = samples["graft"][what], samples["peer"][what]
            ratios = [a / b for a, b in zip(ours, theirs)]
            results.append({"model": name, "what": what, "graft": statistics.median(ours), "peer": statistics.median(theirs),
                            "ratio": statistics.median(ratios), "least": min(ratios), "greatest": max(ratios)})
    if sys.stderr.isatty():
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    if args.json:
        print(json.dumps(results, indent=2))
        return
    print(f"{'MODEL':<10} {'WHAT':<11} {'graft t/s':>10} {'peer t/s':>10} {'RATIO':>7} {'LEAST':>7} {'GREATEST':>9}")
    for r in results:
        print(f"{r['model']:<10} {r['what']:<11} {r['graft']:>10.1f} {r['peer']:>10.1f} {r['ratio']:>7.2f} {r['least']:>7.2f} {r['greatest']:>9.2f}")


if __name__ == "__main__":
    main()
