#!/bin/sh
# Makes sure that the tests find a real Kubernetes API server, and prints the folder that it is in (KUBEBUILDER_ASSETS).
# It is built once with Go from tests/kube/go.mod, into a cache that outlives checkouts: some seven minutes on two cores.
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

build() {
    [ -x "$wanted/$1" ] && return 0
    echo "Building $1 ${3:-} (once, into $wanted) ..." >&2
    # Built beside and moved, so that a build that is cut off leaves nothing that looks whole.
    go build -trimpath -buildvcs=false -ldflags "-s -w $4" -o "$wanted/.$1.$$" "$2" >&2
    mv "$wanted/.$1.$$" "$wanted/$1"
}

mkdir -p "$wanted"
# A server that does not know its version does not start.
stamp="-X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=$minor"
for name in kube-apiserver kube-controller-manager kube-scheduler; do
    build "$name" "k8s.io/kubernetes/cmd/$name" "$version" "$stamp"
done
build etcd go.etcd.io/etcd/server/v3 "" ""
echo "$wanted"
