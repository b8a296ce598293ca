#!/bin/sh
# Builds a real kube-apiserver and unpacks etcd, from Debian's own packages, for against_kube_apiserver.py:
#   build-kube-apiserver.sh FOLDER
# Debian 12, nothing is installed; 3 GB of disk, and about ten minutes on two cores. The source is Kubernetes 1.20.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$folder"

mkdir -p apt/parts apt/lists/partial apt/archives/partial
# The machine's own sources, of which the source packages are wanted too.
for list in /etc/apt/sources.list.d/*.sources; do
    sed 's/^Types: deb$/Types: deb deb-src/' "$list" >"apt/parts/${list##*/}"
done
apt() {
    apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/apt/parts" \
        -o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt" "$@"
}
apt update
apt download golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev etcd-server
apt source --download-only kubernetes

mkdir -p root go src bin
for package in *.deb; do dpkg -x "$package" root; done
cp -rL root/usr/share/go-1.19/. root/usr/lib/go-1.19/. go/ 2>/dev/null || :
cp root/usr/bin/etcd etcd
tar -C src --strip-components=1 -xf kubernetes_*.orig.tar.gz

# The source's own reflect2 1.0.1 crashes when built with Go 1.18 or newer.
rm -f src/vendor/github.com/modern-go/reflect2/*.go src/vendor/github.com/modern-go/reflect2/*.s
cp root/usr/share/gocode/src/github.com/modern-go/reflect2/*.go \
    root/usr/share/gocode/src/github.com/modern-go/reflect2/*.s src/vendor/github.com/modern-go/reflect2

# The Makefile copies what it built with `rsync -pc FILE FOLDER`.
printf '#!/bin/sh\nshift\nexec cp -p "$@"\n' >bin/rsync
chmod +x bin/rsync
cat >version <<'EOF'
KUBE_GIT_COMMIT='unknown'
KUBE_GIT_TREE_STATE='clean'
KUBE_GIT_VERSION='v1.20.2'
KUBE_GIT_MAJOR='1'
KUBE_GIT_MINOR='20'
EOF
cd src
PATH=$folder/bin:$folder/go/bin:$PATH GOROOT=$folder/go GOCACHE=$folder/cache GOFLAGS='' CGO_ENABLED=0 \
    KUBE_GIT_VERSION_FILE=$folder/version make WHAT=cmd/kube-apiserver
cp _output/local/go/bin/kube-apiserver "$folder/kube-apiserver"
echo "KUBE_APISERVER=$folder/kube-apiserver ETCD=$folder/etcd"
