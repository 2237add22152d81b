#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the project in several ways, runs all tests in each, and adds up what they print.

Every test program prints "N passed, N failed, N skipped" as its last line; a program that ends otherwise (a crash, a
sanitizer's report, a timeout) counts as one failure. The last line of this program is the sum over all.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOTALS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
JOBS = str(os.cpu_count() or 2)

STAGES = ["release", "abi", "cli", "asan", "tsan", "fuzz"]
MORE_STAGES = ["clang", "avx2", "scalar", "static"]

SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:allocator_may_return_null=1:second_deadlock_stack=1",
}


class Sum:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.reasons = {}

    def add(self, name, text, code):
        """Counts one program's output. Returns a short result for the listing."""
        lines = [line for line in text.splitlines() if line.strip()]
        totals = TOTALS.match(lines[-1].strip()) if lines else None
        for line in lines:
            reason = re.match(r"^skipped (\d+): (.*)$", line)
            if reason:
                self.reasons[reason.group(2)] = self.reasons.get(reason.group(2), 0) + int(reason.group(1))
        if totals is None:
            self.failed += 1
            self.failures.append(name)
            return f"no totals, exit code {code}"
        passed, failed, skipped = (int(v or 0) for v in totals.groups())
        if code != 0 and failed == 0:
            failed = 1
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        if failed:
            self.failures.append(name)
        return f"{passed} passed, {failed} failed, {skipped} skipped"


def note(text):
    print(text, flush=True)


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **kwargs)


def configure(build, *options):
    launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")] if shutil.which("ccache") else []
    p = run(["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *launcher, *options])
    if p.returncode == 0:
        p = run(["cmake", "--build", build, "-j", JOBS])
    if p.returncode != 0:
        note(p.stdout[-4000:])
    return p.returncode == 0


def programs(build):
    folder = os.path.join(build, "bin")
    names = [n for n in sorted(os.listdir(folder)) if re.match(r"^(base|type|graph|op|gguf|device|plan|ext|cpu|kernel|abi|cli|robust)_", n)]
    return [os.path.join(folder, n) for n in names]


def run_program(path, total, label, timeout, env=None):
    start = time.time()
    try:
        p = run([path], timeout=timeout, env={**os.environ, **SANITIZER_ENV, **(env or {})}, cwd=ROOT)
        text, code = p.stdout, p.returncode
    except subprocess.TimeoutExpired as e:
        out = e.stdout or b""
        text, code = (out.decode("utf-8", "replace") if isinstance(out, bytes) else out) + f"\ntimeout after {timeout} s\n", -1
    name = f"{label}/{os.path.basename(path)}"
    before = total.failed
    result = total.add(name, text, code)
    note(f"  {name}: {result} ({time.time() - start:.1f} s)")
    if total.failed > before:
        note("\n".join("    " + line for line in text.splitlines()[-60:]))


def stage(total, label, options, env=None, timeout=600, only=None, build=None):
    """One way of building, and the tests in it."""
    note(f"{label}: building")
    build = build or os.path.join(ROOT, f"build-{label}")
    start = time.time()
    if not configure(build, *options):
        total.failed += 1
        total.failures.append(f"{label}/build")
        return
    note(f"{label}: built in {time.time() - start:.0f} s")
    for path in programs(build):
        if only is None or re.match(only, os.path.basename(path)):
            run_program(path, total, label, timeout, env)


def abi(total):
    """Headers and libraries of an installed tree against the tables of the interface."""
    build, prefix = os.path.join(ROOT, "build-release"), os.path.join(ROOT, "build-prefix")
    shutil.rmtree(prefix, ignore_errors=True)
    p = run(["cmake", "--install", build, "--prefix", prefix])
    libs = next((os.path.join(prefix, d) for d in ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
                 if os.path.exists(os.path.join(prefix, d, "libggml-base.so"))), None)
    if p.returncode != 0 or libs is None:
        note(p.stdout[-2000:])
        total.failed += 1
        total.failures.append("abi/install")
        return
    tables = os.path.join(ROOT, "tests", "abi")
    check = [sys.executable, os.path.join(tables, "check_abi.py"), os.path.join(prefix, "include"), libs, "--run",
             "--internal", os.path.join(prefix, "include", "module")]
    for client in ("llama", "whisper", "sd", "test-backend-ops"):
        check += ["--client", os.path.join(tables, "clients", client + ".txt")]
    p = run(check)
    note(f"  abi/check: {total.add('abi/check', p.stdout, p.returncode)}")
    if p.returncode:
        note("\n".join("    " + line for line in p.stdout.splitlines() if line.startswith("FAIL"))[:4000])
    for script in sorted(os.listdir(tables)):
        if script.startswith("test_") and script.endswith(".py"):
            p = run([sys.executable, os.path.join(tables, script), prefix, libs])
            note(f"  abi/{script}: {total.add('abi/' + script, p.stdout, p.returncode)}")
            if p.returncode:
                note(p.stdout[-3000:])


def scripts(total, label):
    """Tests of the command and of the examples, written in Python, in one of the builds."""
    folder = os.path.join(ROOT, "tests", "cli")
    if not os.path.exists(os.path.join(ROOT, f"build-{label}", "bin", "graft")):
        note(f"  {label}/cli: not run, the build failed")
        return
    for script in sorted(os.listdir(folder)):
        if script.startswith("test_") and script.endswith(".py"):
            start = time.time()
            p = run([sys.executable, os.path.join(folder, script), os.path.join(ROOT, f"build-{label}")], env={**os.environ, **SANITIZER_ENV})
            name = f"{label}/cli/{script}"
            note(f"  {name}: {total.add(name, p.stdout, p.returncode)} ({time.time() - start:.1f} s)")
            if p.returncode:
                note("\n".join("    " + line for line in p.stdout.splitlines()[-40:]))


def static(total):
    """What can be said without running: format, and sizes of files and functions (printed, not judged)."""
    p = run([os.path.join(ROOT, "scripts", "format-check.sh")], cwd=ROOT)
    note(f"  format: {total.add('format', p.stdout, p.returncode)}")
    if p.returncode:
        note("\n".join("    " + line for line in p.stdout.splitlines()[:40]))
    note(run([sys.executable, os.path.join(ROOT, "scripts", "sizes.py")], cwd=ROOT).stdout)


def corpus(total):
    """Fuzz targets over the kept corpus, each file once."""
    if not shutil.which("clang-16") and not shutil.which("clang"):
        note("  fuzz: skipped, no clang")
        total.skipped += 1
        total.reasons["fuzz corpus: no clang"] = 1
        return
    cc = "clang-16" if shutil.which("clang-16") else "clang"
    build = os.path.join(ROOT, "build-fuzz")
    if not configure(build, "-DGRAFT_FUZZ=ON", "-DGRAFT_TESTS=OFF", f"-DCMAKE_C_COMPILER={cc}",
                     f"-DCMAKE_CXX_COMPILER={cc.replace('clang', 'clang++')}", "-DGRAFT_SANITIZE=fuzzer-no-link,address,undefined"):
        total.failed += 1
        total.failures.append("fuzz/build")
        return
    for name in sorted(os.listdir(os.path.join(ROOT, "fuzz", "corpus"))):
        files = os.path.join(ROOT, "fuzz", "corpus", name)
        p = run([os.path.join(build, "bin", "fuzz_" + name), "-runs=0", files], env={**os.environ, **SANITIZER_ENV})
        count = len(os.listdir(files))
        ok = p.returncode == 0
        note(f"  fuzz/{name}: {total.add('fuzz/' + name, f'{count if ok else 0} passed, {0 if ok else 1} failed, 0 skipped', p.returncode)}")
        if not ok:
            note(p.stdout[-3000:])


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--all", action="store_true", help="also clang, kernels capped at older instruction sets, static checks")
    ap.add_argument("--stage", action="append", choices=STAGES + MORE_STAGES, help="only these")
    args = ap.parse_args()
    wanted = args.stage or STAGES + (MORE_STAGES if args.all else [])
    total = Sum()
    start = time.time()
    if "release" in wanted or "abi" in wanted or "cli" in wanted:
        stage(total, "release", ["-DGRAFT_WERROR=ON"], only=None if "release" in wanted else "$")
    if "abi" in wanted:
        abi(total)
    if "cli" in wanted:
        scripts(total, "release")
    if "asan" in wanted:
        stage(total, "asan", ["-DGRAFT_SANITIZE=address,undefined"], timeout=900)
        scripts(total, "asan")
    if "tsan" in wanted:
        stage(total, "tsan", ["-DGRAFT_SANITIZE=thread"], timeout=900, only=r"^(ext|device|plan|cpu_team|cpu_backend|graph)_?")
    if "fuzz" in wanted:
        corpus(total)
    if "clang" in wanted:
        cc = "clang-16" if shutil.which("clang-16") else "clang"
        stage(total, "clang", ["-DGRAFT_WERROR=ON", f"-DCMAKE_C_COMPILER={cc}", f"-DCMAKE_CXX_COMPILER={cc.replace('clang', 'clang++')}"])
    for isa in ("avx2", "scalar"):
        if isa in wanted:
            stage(total, isa, ["-DGRAFT_WERROR=ON"], env={"GRAFT_CPU": isa}, only=r"^(cpu|ext|plan)_", build=os.path.join(ROOT, "build-release"))
    if "static" in wanted:
        static(total)
    if total.failures:
        note("failed: " + ", ".join(total.failures))
    for reason, n in sorted(total.reasons.items()):
        note(f"skipped {n}: {reason}")
    note(f"{time.time() - start:.0f} s")
    note(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
