#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what a task needs and says what it does: Debian packages by apt (when root or with sudo), Python packages into a
# virtual environment in the tree. Usage: scripts/deps.sh build|python|clang ...
set -eu
cd "$(dirname "$0")/.."

updated=
apt_install() {
    local run=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "graft: please install these Debian packages: $*" >&2
            exit 1
        fi
        run=sudo
    fi
    echo "graft: installing $*" >&2
    if [ -z "$updated" ]; then
        $run apt-get update -qq
        updated=1
    fi
    $run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# need FILE_OR_COMMAND PACKAGE...: installs when the first is not there
need() {
    local what=$1
    shift
    case $what in
        /*) [ -e "$what" ] || apt_install "$@" ;;
        *) command -v "$what" >/dev/null || apt_install "$@" ;;
    esac
}

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
            if [ ! -x .venv/bin/python ]; then
                python3 -c 'import venv, ensurepip' 2>/dev/null || apt_install python3-venv
                echo "graft: making a Python environment in .venv" >&2
                python3 -m venv .venv
            fi
            if ! cmp -s requirements.txt .venv/requirements.txt; then
                echo "graft: installing Python packages: $(tr '\n' ' ' <requirements.txt)" >&2
                .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
                cp requirements.txt .venv/requirements.txt
            fi
            ;;
        clang)
            need clang-16 clang-16
            need /usr/lib/llvm-16/lib/libomp.so libomp-16-dev
            [ -n "$(find /usr/lib -name 'libclang_rt.fuzzer-x86_64.a' -path '*16*' 2>/dev/null)" ] || apt_install libclang-rt-16-dev
            ;;
        *)
            echo "usage: scripts/deps.sh build|python|clang ..." >&2
            exit 2
            ;;
    esac
done
