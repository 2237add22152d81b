# SPDX-License-Identifier: MIT
"""What the tests of the graft command share: running it, and the models that they run it on."""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "data")]
from report import Report  # noqa: E402,F401

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build-release").resolve()
GRAFT = BUILD / "bin" / "graft"
SMOLLM2 = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
# what no user should see: a sanitizer's or an assertion's output, a stack, a signal
NOISE = re.compile(r"assert|abort|segmentation|core dumped|backtrace|sanitizer|#\d+ 0x|\.c:\d+", re.IGNORECASE)


def model_path():
    """The downloaded model, or None: GRAFT_MODEL names another place."""
    path = pathlib.Path(os.environ.get("GRAFT_MODEL", SMOLLM2))
    return path if path.exists() else None


class Result:
    def __init__(self, p):
        self.code, self.bytes, self.out = p.returncode, p.stdout, p.stdout.decode("utf-8", "replace")
        self.err = p.stderr.decode("utf-8", "replace")

    def __str__(self):
        return f"exit code {self.code}, stdout {self.out[-300:]!r}, stderr {self.err[-600:]!r}"

    def json(self):
        try:
            return json.loads(self.bytes)
        except ValueError:
            return None


def graft(*words, memory=None, timeout=60, env=None, program=GRAFT):
    """Runs the command. memory: bytes of address space that it may use."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    command = [str(w) for w in (program, *words)]
    try:
        p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, preexec_fn=limit,
                           env={**os.environ, **(env or {})}, check=False)
    except subprocess.TimeoutExpired as e:
        p = subprocess.CompletedProcess(command, -1, e.stdout or b"", (e.stderr or b"") + f"timeout after {timeout} s".encode())
    return Result(p)


def check_error(report, name, result, code, *patterns):
    """One clear line on stderr with all of the patterns in it, nothing on stdout, this exit code."""
    lines = result.err.splitlines()
    report.check(result.code == code, f"{name}: exit code {code}", str(result))
    report.check(len(lines) == 1 and lines[0].startswith("graft: "), f"{name}: one line", str(result))
    report.check(len(lines[:1]) == 1 and 10 < len(lines[0]) < 400 and not NOISE.search(result.err), f"{name}: clear", str(result))
    report.check(result.out == "", f"{name}: nothing on stdout", str(result))
    for pattern in patterns:
        report.check(re.search(pattern, result.err) is not None, f"{name}: says {pattern}", str(result))
