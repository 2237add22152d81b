#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what a task needs and says what it does: Debian packages by apt (as root or with sudo), Python packages into a
# virtual environment in the tree. What is there already is left alone, without network. Usage: scripts/deps.sh build|python|clang ...
set -eu
cd "$(dirname "$0")/.."

missing=()

# need FILE_OR_COMMAND PACKAGE: notes the package when the first is not there
need() {
    case $1 in
        /*) [ -e "$1" ] || missing+=("$2") ;;
        *) command -v "$1" >/dev/null || missing+=("$2") ;;
    esac
}

fail() {
    echo "graft: $*" >&2
    exit 1
}

install_missing() {
    [ ${#missing[@]} -gt 0 ] || return 0
    local root=() log
    if [ "$(id -u)" != 0 ]; then
        root=(sudo)
        [ -t 0 ] || root=(sudo -n) # nobody is there to type a password
    fi
    if ! command -v apt-get >/dev/null || { [ ${#root[@]} -gt 0 ] && ! command -v sudo >/dev/null; }; then
        fail "missing: ${missing[*]} (names of Debian packages). Ask an administrator to run: apt install ${missing[*]}"
    fi
    echo "graft: installing Debian packages: ${missing[*]}" >&2
    log=$(mktemp)
    if ! { "${root[@]}" apt-get update -qq && "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        fail "these Debian packages could not be installed: ${missing[*]}"
    fi
    rm -f "$log"
    missing=()
}

python_environment() {
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        echo "graft: making a Python environment in .venv" >&2
        python3 -m venv --clear .venv || fail "the Python environment in .venv could not be made"
    fi
    if ! cmp -s requirements.txt .venv/requirements.txt; then
        echo "graft: installing Python packages in .venv: $(tr '\n' ' ' <requirements.txt)" >&2
        .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt ||
            fail "these Python packages could not be installed: $(tr '\n' ' ' <requirements.txt)"
        cp requirements.txt .venv/requirements.txt
    fi
}

[ $# -gt 0 ] || set -- --help
for task in "$@"; do
    case $task in
        build)
            need cmake cmake
            need g++ g++
            need pkg-config pkg-config
            need /usr/include/pcre2.h libpcre2-dev
            need /usr/include/libsmartcols/libsmartcols.h libsmartcols-dev
            need /usr/include/cjson/cJSON.h libcjson-dev
            ;;
        python)
            need python3 python3
            python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
            ;;
        clang)
            need clang-16 clang-16
            need /usr/lib/llvm-16/lib/libomp.so libomp-16-dev
            [ -n "$(find /usr/lib -name 'libclang_rt.fuzzer-*.a' -path '*16*' 2>/dev/null)" ] || missing+=(libclang-rt-16-dev)
            ;;
        *)
            echo "usage: scripts/deps.sh build|python|clang ..." >&2
            exit 2
            ;;
    esac
done
install_missing
case " $* " in *" python "*) python_environment ;; esac
