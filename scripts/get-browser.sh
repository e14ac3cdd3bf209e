#!/bin/sh
# Makes sure that the browser tests find a browser: one of browsers.txt, which they read as well, else the one that
# Playwright brings.
set -eu

while read -r program; do
    # Ubuntu's chromium-browser is a stub for a snap, which does not run everywhere.
    if [ -x "$program" ] && "$program" --version >/dev/null 2>&1 </dev/null; then
        exit 0
    fi
done <"$(dirname "$0")/browsers.txt"

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    if apt-cache show chromium >/dev/null 2>&1; then
        echo "Installing Debian's chromium for the browser tests ..."
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
            chromium fonts-liberation fonts-noto-color-emoji >/dev/null
        exit 0
    fi
    exec .venv/bin/playwright install --with-deps chromium
fi
exec .venv/bin/playwright install chromium
