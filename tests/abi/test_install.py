#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An installed graft as a client uses it: by CMake's find_package, by pkg-config, after the tree was moved, and built with
another GGML_MAX_NAME.

Usage: test_install.py PREFIX LIBRARY_FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from report import Report, run  # noqa: E402

CLIENT = pathlib.Path(__file__).resolve().parent / "client"
ROOT = CLIENT.parents[2]
VERSION = "0.25.3"
PROGRAMS = {"client_c": f"{VERSION} 8 same", "client_all": f"{VERSION} 8 same", "client_cxx": f"{VERSION} CPU 42 same",
            "client_base": f"{VERSION} q4_1 same", "below/client_below": f"{VERSION} 8 same"}


def clean_environment(**more):
    env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH")}
    return {**env, **more}


def mapped(program, env):
    """Folders from which the ggml libraries of a program come."""
    paths = re.findall(r"libggml\S* => (.*) \(0x", run(["ldd", program], env=env).stdout)
    return {str(pathlib.Path(path).resolve().parent) for path in paths}


def output(program, env):
    """Exit code, and what a program prints on stdout: the log is on stderr."""
    p = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=env, check=False)
    return p.returncode, p.stdout.strip(), p.stderr[-500:]


def by_cmake(report, label, prefix, folder, build, name):
    p = run(["cmake", "-S", CLIENT, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Debug"], env=clean_environment())
    if not report.check(p.returncode == 0, f"{label}: find_package", p.stdout[-1500:]):
        return
    wanted = {"GGML_VERSION": VERSION, "GGML_AVAILABLE_BACKENDS": "ggml-cpu", "GGML_SHARED_LIB": "ON", "GGML_BACKEND_DL": "OFF",
              "GGML_INCLUDE_DIR": str(prefix / "include"), "GGML_LIB_DIR": str(folder)}
    found = dict(line[3:].split("=", 1) for line in p.stdout.splitlines() if line.startswith("-- GGML_"))
    for variable, value in wanted.items():
        report.check(found.get(variable) == value, f"{label}: {variable}", f"{found.get(variable)}, expected {value}")
    p = run(["cmake", "--build", build], env=clean_environment())
    if not report.check(p.returncode == 0, f"{label}: clients are built", p.stdout[-1500:]):
        return
    for program, text in PROGRAMS.items():
        result = output(build / program, clean_environment())
        report.check(result[:2] == (0, f"{text} name={name}"), f"{label}: {program}", str(result))
        report.check(mapped(build / program, clean_environment()) == {str(folder.resolve())}, f"{label}: {program} maps that tree alone")


def by_pkg_config(report, label, prefix, folder, build, name):
    if not shutil.which("pkg-config"):
        report.skip("install: pkg-config is not installed")
        return
    env = clean_environment(PKG_CONFIG_PATH=str(folder / "pkgconfig"), LD_LIBRARY_PATH=str(folder))
    p = run(["pkg-config", "--modversion", "ggml"], env=env)
    report.check(p.stdout.strip() == VERSION, f"{label}: pkg-config version", p.stdout)
    flags = run(["pkg-config", "--cflags", "--libs", "ggml"], env=env).stdout.split()
    report.check(f"-I{prefix / 'include'}" in [os.path.normpath(f) for f in flags], f"{label}: include folder", str(flags))
    build.mkdir(parents=True, exist_ok=True)
    for source, compiler, program in (("client.c", "cc", "client_c"), ("client.cpp", "c++", "client_cxx")):
        p = run([compiler, CLIENT / source, *flags, "-o", build / program], env=env)
        if report.check(p.returncode == 0, f"{label}: {source} by pkg-config", p.stdout[-1500:]):
            result = output(build / program, env)
            report.check(result[:2] == (0, f"{PROGRAMS[program]} name={name}"), f"{label}: {program} by pkg-config", str(result))


def command(report, label, prefix):
    program = prefix / "bin" / "graft"
    if not program.exists():
        report.skip("install: the graft command is not built")
        return
    p = run([program, "--version"], env=clean_environment())
    report.check(p.returncode == 0 and VERSION in p.stdout, f"{label}: graft --version", p.stdout[-500:])


def no_paths_of_the_build(report, prefix, folder):
    """Installed texts name no folder of the machine that built them."""
    for path in [*folder.glob("cmake/ggml/*"), *folder.glob("pkgconfig/*")]:
        text = path.read_text()
        report.check(str(ROOT) not in text and str(prefix) not in text, f"{path.name} names no folder of the build")
    for path in [*folder.glob("*.so.0"), prefix / "bin" / "graft"]:
        if path.exists():
            rpath = [line for line in run(["readelf", "-d", path]).stdout.splitlines() if "PATH)" in line]
            report.check(all("[$ORIGIN" in line for line in rpath), f"{path.name}: run path is relative", str(rpath))


def libraries_of(prefix):
    return next(p.parent for p in sorted(prefix.glob("lib*/**/libggml-base.so")))


def longer_names(report, scratch):
    """GGML_MAX_NAME is an option of the build that reaches the clients."""
    build, prefix = ROOT / "build-max-name", scratch / "max-name"
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not (build / "Makefile").exists() else []
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    p = run(["cmake", "-S", ROOT, "-B", build, *generator, *launcher, "-DCMAKE_BUILD_TYPE=Debug", "-DGRAFT_TESTS=OFF", "-DGGML_MAX_NAME=128"])
    if p.returncode == 0:
        p = run(["cmake", "--build", build, "-j", str(os.cpu_count() or 2)])
    if p.returncode == 0:
        p = run(["cmake", "--install", build, "--prefix", prefix])
    if not report.check(p.returncode == 0, "GGML_MAX_NAME=128: build and install", p.stdout[-1500:]):
        return
    folder = libraries_of(prefix)
    by_cmake(report, "GGML_MAX_NAME=128", prefix, folder, scratch / "max-name-cmake", 128)
    by_pkg_config(report, "GGML_MAX_NAME=128", prefix, folder, scratch / "max-name-pc", 128)


def main():
    prefix, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name).resolve()
        by_cmake(report, "installed", prefix, folder, scratch / "cmake", 64)
        by_pkg_config(report, "installed", prefix, folder, scratch / "pc", 64)
        command(report, "installed", prefix)
        no_paths_of_the_build(report, prefix, folder)
        moved = scratch / "a moved tree" / "graft"
        shutil.copytree(prefix, moved, symlinks=True)
        there = moved / folder.relative_to(prefix)
        by_cmake(report, "moved", moved, there, scratch / "moved-cmake", 64)
        command(report, "moved", moved)
        plain = scratch / "moved"  # pkg-config's output is cut at blanks
        shutil.move(moved, plain)
        by_pkg_config(report, "moved", plain, plain / folder.relative_to(prefix), scratch / "moved-pc", 64)
        longer_names(report, scratch)
    report.end()


if __name__ == "__main__":
    main()
