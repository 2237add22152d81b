# SPDX-License-Identifier: MIT
"""The peer: llama.cpp with ggml 0.25.3, from the source package of llama-cpp-python, built once into peer/.

Its programs are the oracle of the tests and what speed is compared with. Nothing of it is part of this project.
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.environ.get("GRAFT_PEER", os.path.join(ROOT, "peer"))
PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
TARGETS = ["llama-bench", "llama-perplexity", "llama-completion", "llama-quantize", "test-backend-ops", "test-thread-safety",
           "test-alloc"]
MODELS = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}


def run(command, **kwargs):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **kwargs)
    if p.returncode != 0:
        sys.stderr.write(p.stdout[-3000:])
        raise SystemExit(f"failed: {' '.join(command)}")
    return p.stdout


def source():
    """The folder of llama.cpp's sources."""
    tree = os.path.join(FOLDER, "source")
    if not os.path.isdir(tree):
        print(f"fetching {PACKAGE} {VERSION}", file=sys.stderr)
        os.makedirs(FOLDER, exist_ok=True)
        run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE, "-d", FOLDER, f"{PACKAGE}=={VERSION}"])
        archive = next(os.path.join(FOLDER, n) for n in os.listdir(FOLDER) if n.endswith(".tar.gz"))
        with tarfile.open(archive) as tar:
            tar.extractall(tree + ".part")
        os.rename(tree + ".part", tree)
    top = os.path.join(tree, os.listdir(tree)[0])
    return os.path.join(top, "vendor", "llama.cpp")


def build(name="build", options=(), targets=TARGETS):
    """Builds the programs; returns the folder that holds them. clang 16: gcc 12 miscompiles the peer's AMX set-up."""
    folder = os.path.join(FOLDER, name)
    binaries = os.path.join(folder, "bin")
    if not all(os.path.exists(os.path.join(binaries, t)) for t in targets):
        print(f"building llama.cpp in {os.path.relpath(folder, ROOT)} (some minutes)", file=sys.stderr)
        env = dict(os.environ, CC="clang-16", CXX="clang++-16")
        run(["cmake", "-S", source(), "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DLLAMA_OPENSSL=OFF",
             "-DLLAMA_BUILD_TESTS=ON", "-DLLAMA_BUILD_TOOLS=ON", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", *options], env=env)
        run(["cmake", "--build", folder, "-j", str(os.cpu_count() or 2), "--target", *targets], env=env)
    return binaries


def model(name):
    """A model's path; fetched when it is not there."""
    path = os.path.join(ROOT, "models", MODELS[name])
    if not os.path.exists(path):
        run([os.path.join(ROOT, "scripts", "model.sh"), name])
    return path


def environment(libraries):
    """libraries: the folder of graft's libraries, or None for the peer's own."""
    env = dict(os.environ)
    env.pop("LD_LIBRARY_PATH", None)
    if libraries:
        env["LD_LIBRARY_PATH"] = libraries
    return env


def mapped_ggml(command, libraries):
    """Runs a program and returns its output and the ggml libraries that were mapped, as the dynamic linker tells."""
    env = dict(environment(libraries), LD_DEBUG="files", LD_DEBUG_OUTPUT=os.path.join(FOLDER, "ld"))
    for old in [n for n in os.listdir(FOLDER) if n.startswith("ld.")]:
        os.remove(os.path.join(FOLDER, old))
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env, check=False,
                       stdin=subprocess.DEVNULL)
    mapped = set()
    for log in [n for n in os.listdir(FOLDER) if n.startswith("ld.")]:
        with open(os.path.join(FOLDER, log), errors="replace") as f:
            mapped |= {os.path.realpath(m) for m in re.findall(r"calling init: (\S*libggml\S*)", f.read())}
        os.remove(os.path.join(FOLDER, log))
    return p.returncode, p.stdout, mapped


def have_compiler():
    return shutil.which("clang-16") is not None
