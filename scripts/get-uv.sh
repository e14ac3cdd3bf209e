#!/bin/sh
# Puts a pinned uv into a private virtual environment: get-uv.sh PYTHON FOLDER VERSION
# Needs Python >= 3.11 alone; Debian and Ubuntu leave ensurepip out of it, so there are three ways, tried in turn.
set -eu
python=$1 folder=$2 version=$3

if [ -z "$python" ]; then
    echo "lessor needs Python 3.11 or newer and found none (tried python3.13, python3.12, python3.11, python3)." >&2
    echo "Install it (Debian/Ubuntu: apt-get install python3 python3-venv; macOS: brew install python@3.13)," >&2
    echo "or name one that you have: make PYTHON=/path/to/python3.11" >&2
    exit 1
fi

if "$python" -c 'import ensurepip' 2>/dev/null; then
    "$python" -m venv --clear "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$version"
elif "$python" -m pip --version >/dev/null 2>&1; then
    "$python" -m venv --clear --without-pip "$folder"
    "$python" -m pip --python "$folder/bin/python" install --quiet --disable-pip-version-check "uv==$version"
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv >/dev/null
    "$python" -m venv --clear "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$version"
else
    echo "$python has neither ensurepip nor pip, so no virtual environment can be made with it." >&2
    echo "Install one (Debian/Ubuntu: sudo apt-get install python3-venv), then run make again." >&2
    exit 1
fi
