# Owns the files of one private PostgreSQL cluster and how its server is reached. A cluster is named by a directory DIR:
#
#   DIR/password  superuser's password (0600)      DIR/home  where the server's own directory is
#   DIR/port      TCP port on 127.0.0.1            DIR/lock  held while a command changes the cluster
#
# The server's directory holds data/, log and its settings. It is DIR/server, except when the caller is root and the
# account that the server runs under cannot reach DIR: then it lies under /var/tmp. That of a cluster for tests lies in
# memory where there is room.
# shellcheck shell=bash

# A memory file system, and how much of it must be free, in KiB. There a database is made in a fraction of the time.
readonly MEMORY=/dev/shm MEMORY_WANTED=$((3 * 1024 * 1024))

# The server refuses to run as root, so root runs it under the account that Debian's packages create.
readonly SERVER_ACCOUNT=postgres

# as_server COMMAND…: runs it under the server's account, from a directory that every account can read.
as_server() (
    cd /
    if ((EUID == 0)); then
        exec setpriv --reuid="$SERVER_ACCOUNT" --regid="$SERVER_ACCOUNT" --init-groups --reset-env -- "$@"
    fi
    exec "$@"
)

# server_home DIR: where the server's own directory is; fails when there is no cluster yet.
server_home() {
    [[ -s $1/home ]] && cat "$1/home"
}

# server_program NAME [VERSION]: path of a server binary, of that major version or of the newest one there is.
server_program() {
    local found
    found=$(compgen -G "/usr/lib/postgresql/${2:-*}/bin/$1" | sort --version-sort | tail -n 1) || true
    if [[ -z $found ]]; then found=$(command -v "$1") || return 1; fi
    printf '%s\n' "$found"
}

# cluster_program NAME DIR: path of a server binary that fits the cluster in DIR.
cluster_program() {
    local version
    version=$(as_server cat "$(server_home "$2")/data/PG_VERSION") || return 1
    server_program "$1" "$version"
}

# postmaster_pid DIR: the process id in the server's pid file; fails when there is no such file.
postmaster_pid() {
    local home
    home=$(server_home "$1") && as_server head -n 1 "$home/data/postmaster.pid" 2>/dev/null
}

# is_running DIR: whether its server's process exists.
is_running() {
    local control home
    home=$(server_home "$1") && control=$(cluster_program pg_ctl "$1") &&
        as_server "$control" status -D "$home/data" >/dev/null 2>&1
}

# is_ready DIR: whether its server takes connections. One that was killed a moment ago may still be running, but is not
# ready.
is_ready() {
    local probe
    is_running "$1" && probe=$(cluster_program pg_isready "$1") &&
        "$probe" --quiet --host=127.0.0.1 --port="$(<"$1/port")"
}

# thaw DIR: wakes the server's processes if somebody stopped them with SIGSTOP; a stopped process does not end.
thaw() {
    local pid
    pid=$(postmaster_pid "$1") || return 0
    # shellcheck disable=SC2046  # the children are words
    kill -CONT "$pid" $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) 2>/dev/null || true
}

# choose_home DIR [FAST]: creates the server's empty directory where its account can reach it, and prints it.
choose_home() {
    local dir=$1 home
    if [[ ${2:-} ]] && (($(free_memory) > MEMORY_WANTED)); then
        home=$(mktemp -d "$MEMORY/federation-postgres.XXXXXXXX")
        if ((EUID == 0)); then chown "$SERVER_ACCOUNT:$SERVER_ACCOUNT" "$home"; fi
    elif ((EUID != 0)); then
        home=$dir/server
        mkdir -p "$home"
    elif as_server test -x "$dir"; then
        home=$dir/server
        install -d -o "$SERVER_ACCOUNT" -g "$SERVER_ACCOUNT" "$home"
    else
        home=$(mktemp -d /var/tmp/federation-postgres.XXXXXXXX)
        chown "$SERVER_ACCOUNT:$SERVER_ACCOUNT" "$home"
    fi
    chmod 0700 "$home"
    printf '%s\n' "$home"
}

# make_disk DIR MIB: a home on a file system of its own, which is full once so much is on it. For root alone.
make_disk() {
    local home
    home=$(choose_home "$1")
    mount -t tmpfs -o "size=$2m,mode=0700,uid=$SERVER_ACCOUNT,gid=$SERVER_ACCOUNT" federation-postgres "$home"
    printf '%s\n' "$home" >"$1/home"
}

# remove_disk HOME: takes that file system away, if it is one.
remove_disk() {
    ! mountpoint --quiet "$1" || umount "$1" 2>/dev/null
}

# free_memory: how much the memory file system can still take without the machine running short, in KiB; 0 where there
# is none.
free_memory() {
    local room available
    room=$(df --output=avail "$MEMORY" 2>/dev/null | tail -n 1) || room=0
    available=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
    if [[ ! -w $MEMORY || $(stat --file-system --format=%T "$MEMORY") != tmpfs ]]; then room=0; fi
    printf '%d\n' "$((room < available ? room : available))"
}

# create_cluster DIR [FAST]: a new cluster with a random password for its superuser. Interrupted, it leaves nothing that
# a later call would take for a cluster: data/ appears by renaming.
create_cluster() {
    local dir=$1 home initdb
    initdb=$(server_program initdb) || fail "$EX_UNAVAILABLE" "no PostgreSQL server here; scripts/prepare installs one."
    # What lay in memory is gone after a start of the machine.
    if ! home=$(server_home "$dir") || ! as_server test -d "$home"; then home=$(choose_home "$dir" "${2:-}"); fi
    printf '%s\n' "$home" >"$dir/home"
    (
        umask 077
        random_hex 16 >"$dir/password"
    )
    as_server rm -rf "$home/data.new"
    # shellcheck disable=SC2016  # the inner shell expands it
    as_server sh -c 'umask 077 && cat >"$1"' sh "$home/password" <"$dir/password"
    as_server "$initdb" -D "$home/data.new" --username=postgres --auth=scram-sha-256 --pwfile="$home/password" \
        --encoding=UTF8 --locale=C.UTF-8 --no-sync --no-instructions >/dev/null
    as_server rm -f "$home/password"
    printf "include 'listen.conf'\ninclude_if_exists 'settings.conf'\n" |
        as_server tee -a "$home/data.new/postgresql.conf" >/dev/null
    as_server mv "$home/data.new" "$home/data"
}

# write_listen DIR PORT: where the server listens: TCP on the loopback address alone, no socket in a shared directory.
write_listen() {
    local home
    home=$(server_home "$1")
    printf "listen_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = ''\n" "$2" |
        as_server tee "$home/data/listen.conf" >/dev/null
    printf '%d\n' "$2" >"$1/port"
}

# write_settings DIR NAME=VALUE…: the settings that the server starts with from now on.
write_settings() {
    local dir=$1 home setting value
    shift
    home=$(server_home "$dir")
    for setting in "$@"; do
        value=${setting#*=}
        printf "%s = '%s'\n" "${setting%%=*}" "${value//\'/\'\'}"
    done | as_server tee "$home/data/settings.conf" >/dev/null
}

# launch DIR: one attempt to start the server; on failure prints what it logged.
launch() {
    local dir=$1 home control logged=0
    home=$(server_home "$dir")
    control=$(cluster_program pg_ctl "$dir")
    logged=$(as_server stat -c %s "$home/log" 2>/dev/null) || logged=0
    # The lock's descriptor must not live on in the server.
    if as_server "$control" start -D "$home/data" -l "$home/log" --wait --timeout=120 >/dev/null 2>&1 9>&-; then return; fi
    as_server tail -c "+$((logged + 1))" "$home/log" >&2 2>/dev/null
    return 1
}
