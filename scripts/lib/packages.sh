# Owns which programs and libraries the product needs for which purpose, how each is recognised, and the Debian package
# that brings it. Recognition is by what is there, not by package names: whoever installed it, and on whatever system.
# shellcheck shell=bash

# packages_for PURPOSE: "package probe" lines; `pypi:NAME` is a package of Python's. Each purpose contains the ones
# before it, except `package`, which is in `all` alone, and `runtime`, which is what the built service alone needs.
packages_for() {
    local build='pkg-config has_command:pkg-config
libpq-dev has_library:libpq
libcurl4-openssl-dev has_library:libcurl
libargon2-dev has_library:libargon2
libcrypt-dev has_library:libxcrypt
libqrencode-dev has_library:libqrencode
zlib1g-dev has_library:zlib'
    local package='debhelper has_command:dh
dpkg-dev has_command:dpkg-buildpackage
git has_command:git
python3 has_command:python3'
    local run='ccache has_command:ccache
postgresql has_postgres_server
curl has_command:curl
jq has_command:jq
util-linux has_command:setpriv'
    local test='nginx-light has_command:nginx
nftables has_command:nft
pgbouncer has_command:pgbouncer
openssl has_command:openssl
shellcheck has_command:shellcheck
python3 has_command:python3
python3-venv has_python_module:ensurepip
nodejs has_command:node
chromium has_command:chromium
chromium-driver has_command:chromedriver
zbar-tools has_command:zbarimg
pypi:jsonschema has_python_module:jsonschema
pypi:selenium has_python_module:selenium
pypi:aiosmtpd has_python_module:aiosmtpd'
    local all='patroni has_command:patroni
python3-etcd has_system_python_module:etcd
python3-idna has_system_python_module:idna
etcd-server has_command:etcd
haproxy has_command:haproxy
prometheus has_command:prometheus
debootstrap has_command:debootstrap
lintian has_command:lintian
man-db has_command:man
default-jre-headless has_command:java
node-typescript has_command:tsc
strace has_command:strace'
    local runtime='ca-certificates has_file:/etc/ssl/certs/ca-certificates.crt
libpq5 has_shared_library:libpq.so.5
libcurl4 has_shared_library:libcurl.so.4
libargon2-1 has_shared_library:libargon2.so.1
libcrypt1 has_shared_library:libcrypt.so.1
libqrencode4 has_shared_library:libqrencode.so.4
zlib1g has_shared_library:libz.so.1
libstdc++6 has_shared_library:libstdc++.so.6'
    case $1 in
        build) printf '%s\n' "$build" ;;
        package) printf '%s\n' "$build" "$package" ;;
        run) printf '%s\n' "$build" "$run" ;;
        test) printf '%s\n' "$build" "$run" "$test" ;;
        all) printf '%s\n' "$build" "$package" "$run" "$test" "$all" ;;
        runtime) printf '%s\n' "$runtime" ;;
        *) return 1 ;;
    esac
}

has_command() {
    # Debian keeps servers in /usr/sbin, which is not on every user's PATH.
    PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null
}

has_library() {
    has_command pkg-config && pkg-config --exists "$1"
}

has_shared_library() {
    /sbin/ldconfig -p | grep -qF "$1"
}

has_file() {
    [[ -e $1 ]]
}

has_python_module() {
    python3 -c "import $1" 2>/dev/null
}

# Programs of Debian that are written in Python use Debian's own, whatever is first on the PATH.
has_system_python_module() {
    /usr/bin/python3 -c "import $1" 2>/dev/null
}

has_postgres_server() {
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null
}

# missing_packages PURPOSE: the packages whose probe fails, a line each.
missing_packages() {
    local package probe
    while read -r package probe; do
        if [[ $probe == *:* ]]; then
            "${probe%%:*}" "${probe#*:}" || printf '%s\n' "$package"
        else
            "$probe" || printf '%s\n' "$package"
        fi
    done < <(packages_for "$1")
}
