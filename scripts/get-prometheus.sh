#!/bin/sh
# Makes sure that the tests find a real Prometheus: the system's package, since none is among Python's.
set -eu

if command -v prometheus >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Debian's prometheus for the tests of telemetry ..."
    apt-get update -qq
    # Without this the package would start a server, which nobody asked for.
    if [ ! -e /usr/sbin/policy-rc.d ]; then
        printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
        chmod +x /usr/sbin/policy-rc.d
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends prometheus >/dev/null
    exit 0
fi
if [ "${CI:-}" = true ]; then
    echo "No prometheus, and no right to install it: its tests cannot run." >&2
    exit 1
fi
echo "No prometheus: the tests that need it are skipped. Install your system's package to run them." >&2
