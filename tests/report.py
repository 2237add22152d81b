# SPDX-License-Identifier: MIT
"""What the scripts of this folder print: failures, skips by reason, and the totals as the last line."""
import subprocess
import sys


class Report:
    def __init__(self):
        self.passed = self.failed = 0
        self.skips = {}

    def check(self, ok, name, text=""):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {name}{': ' + text if text else ''}")
        return ok

    def skip(self, reason, n=1):
        self.skips[reason] = self.skips.get(reason, 0) + n

    def end(self):
        for reason, n in sorted(self.skips.items()):
            print(f"skipped {n}: {reason}")
        print(f"{self.passed} passed, {self.failed} failed, {sum(self.skips.values())} skipped")
        sys.exit(1 if self.failed else 0)


def run(command, **kwargs):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, **kwargs)
