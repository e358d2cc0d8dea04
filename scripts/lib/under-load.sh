# Owns what the tests share that break something while people log in: the Graph simulator with many people, instances of
# the service, a load at a fixed rate with its journal, and the file of what happened when. Needs console.sh, random.sh,
# binaries.sh, processes.sh and postgres-cluster.sh, and the folder `state`.
# shellcheck shell=bash disable=SC2034,SC2154  # some of it is for the scripts, and `state`, `here`, `binaries` are theirs

instances=() # bases of the application `demo`, one for each instance
load_people=4000
load_applications=() # where people log in to others than `demo`
load_authority=      # whose certificates instances with TLS have: a file in PEM form

# In front of a command: what does not run as root runs under the account of PostgreSQL's server, and ends with the
# script.
server_account=()
if ((EUID == 0)); then
    server_account=(
        setpriv "--reuid=$SERVER_ACCOUNT" "--regid=$SERVER_ACCOUNT" --init-groups --reset-env --pdeathsig TERM --
    )
fi

# In front of FILE COMMAND…: runs the command with the file's lines NAME=VALUE in its environment.
# shellcheck disable=SC2016  # the inner shell expands it
readonly in_environment=(bash -c 'cd / && set -a && source "$1" && set +a && shift && exec "$@"' in-environment)

# start_simulator: with the people of the load; sets what the service is told of it, and the demonstration's secrets.
start_simulator() {
    local graph_port control_port
    "$here/secrets" "$state/env"
    set -a
    # shellcheck source=/dev/null
    source "$state/env"
    set +a
    python3 "$here/lib/login-load.py" people --count "$load_people" --data docker/simulator.json \
        --output "$state/simulator.json"
    {
        read -r graph_port
        read -r control_port
    } < <(free_ports 2)
    start_process graph-simulator "$state/simulator.log" "$binaries/graph-simulator" --request-log 0 \
        --listen "127.0.0.1:$graph_port" --control "127.0.0.1:$control_port" --data "$state/simulator.json"
    wait_for_process graph-simulator 180 "$here/is-ready" "127.0.0.1:$control_port" /health
    export FEDERATION_GRAPH_URL=http://127.0.0.1:$graph_port FEDERATION_TRUSTED_PROXIES=0
    export FEDERATION_MODE=development FEDERATION_MAIL_FOLDER=$state/mails
}

# start_instance NAME DATABASE_URL [NAME=VALUE…]: an instance of the service, ready; its base joins `instances`.
start_instance() {
    local name=$1 url=$2 port management_port
    shift 2
    {
        read -r port
        read -r management_port
    } < <(free_ports 2)
    start_process "$name" "$state/$name.log" env "FEDERATION_DATABASE_URL=$url" "FEDERATION_LISTEN=127.0.0.1:$port" \
        "FEDERATION_MANAGEMENT_LISTEN=127.0.0.1:$management_port" "$@" "$binaries/federation" serve
    wait_for_process "$name" 120 "$here/is-ready" "127.0.0.1:$management_port"
    instances+=("http://127.0.0.1:$port/demo/$DEMO_API_KEY")
}

# start_load RATE SEED: logins a second at all instances in turns, from now on.
start_load() {
    start_process login-load "$state/load.log" python3 "$here/lib/login-load.py" run --count "$load_people" --rate "$1" \
        --seed "$2" --journal "$state/journal" --applications "${load_applications[@]}" --at "${instances[@]}" \
        ${load_authority:+--authority "$load_authority"}
}

# stop_load: no more logins begin; those under way are waited for.
stop_load() {
    end_process login-load
}

# end_process NAME: asks it to end, waits until it has, and forgets it; fails when it does not end as it should.
end_process() {
    local index
    for index in "${!process_names[@]}"; do
        if [[ ${process_names[index]} != "$1" ]]; then continue; fi
        kill -TERM "${process_ids[index]}" 2>/dev/null || true
        wait "${process_ids[index]}" || fail 1 "$1 ended with exit code $?:" "$(tail -n 20 "${process_logs[index]}")"
        unset "process_names[index]" "process_ids[index]" "process_logs[index]"
        process_names=("${process_names[@]}") process_ids=("${process_ids[@]}") process_logs=("${process_logs[@]}")
        return
    done
}

# event NAME: notes that it happens now.
event() {
    printf '%s %s\n' "$(date +%s.%N)" "$1" >>"$state/events"
}

# check_load DATABASE_URL ARGUMENT…: what must hold of the journal; see login-load.py.
check_load() {
    local database=$1
    shift
    python3 "$here/lib/login-load.py" check --journal "$state/journal" --applications "${load_applications[@]}" \
        --at "${instances[@]}" ${load_authority:+--authority "$load_authority"} --database "$database" "$@"
}

# ask DATABASE_URL SQL: its rows, columns between bars.
ask() {
    psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --command "$2" "$1"
}

# eventually WHAT SECONDS COMMAND…: repeats it until it succeeds, after a pause of `pause` seconds, or of 0.05.
eventually() {
    local what=$1 deadline=$((SECONDS + $2))
    shift 2
    until "$@" 2>/dev/null; do
        if ((SECONDS >= deadline)); then fail 1 "it has not come to this: $what"; fi
        sleep "${pause:-0.05}"
    done
}
