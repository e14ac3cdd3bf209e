#!/bin/sh
# Makes sure that the tests find a real Kubernetes API server, and prints the folder that it is in (KUBEBUILDER_ASSETS).
# It is built once with Go from tests/kube/go.mod, into a cache that outlives checkouts: some six minutes on two cores.
set -eu

if [ -n "${KUBEBUILDER_ASSETS:-}" ] || [ -n "${TEST_KUBECONFIG:-}" ]; then
    echo "${KUBEBUILDER_ASSETS:-}"
    exit 0
fi
# Where Go's own installer puts it, which not every shell looks at.
PATH="$PATH:/usr/local/go/bin"
if ! command -v go >/dev/null 2>&1; then
    if [ "${CI:-}" = true ]; then
        echo "No Go, so no Kubernetes API server can be built; set KUBEBUILDER_ASSETS to one or TEST_KUBECONFIG." >&2
        exit 1
    fi
    echo "No Go: the tests that need a real Kubernetes API server are skipped. Set KUBEBUILDER_ASSETS to run them." >&2
    exit 0
fi

cd "$(dirname "$0")/../tests/kube"
modules=$(cat go.mod go.sum | cksum | cut -d ' ' -f 1)
wanted="${XDG_CACHE_HOME:-$HOME/.cache}/lessor/kube-$modules"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=$(echo "$version" | cut -d . -f 2)
info=k8s.io/component-base/version

missing=""
for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
    [ -x "$wanted/$program" ] || missing="$missing $program"
done
if [ -n "$missing" ]; then
    echo "Building Kubernetes $version for the tests (once, into $wanted):$missing ..." >&2
    # A server that does not know its version does not start.
    stamp="-X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=$minor"
    # Built beside and moved, so that a build that is cut off leaves nothing that looks whole; all at once, since the
    # last step of each keeps a single processor busy. Memory is cheaper here than the time of collecting garbage.
    beside="$wanted/.$$"
    mkdir -p "$beside"
    GOGC=400 go build -trimpath -buildvcs=false -ldflags "-s -w $stamp" -o "$beside/" \
        k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager \
        k8s.io/kubernetes/cmd/kube-scheduler go.etcd.io/etcd/server/v3 >&2
    mv "$beside/server" "$beside/etcd"
    mv "$beside"/* "$wanted/"
    rmdir "$beside"
fi
echo "$wanted"
