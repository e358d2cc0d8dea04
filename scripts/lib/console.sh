# Owns how the scripts talk: one line per step on stderr, so that stdout stays free for results, and the exit codes
# of sysexits(3). Knows nothing of what the steps do.
# shellcheck shell=bash

# shellcheck disable=SC2034  # read by the scripts that source this
readonly EX_USAGE=64 EX_UNAVAILABLE=69

# step TEXT: what is about to happen.
step() {
    printf '\n\033[1m%s\033[0m\n' "$*" >&2
}

# note TEXT: a detail of the step.
note() {
    printf '  %s\n' "$*" >&2
}

# fail STATUS TEXT…: says why, a line per argument, and ends the script.
fail() {
    local status=$1
    shift
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    shift
    if (($# > 0)); then printf '  %s\n' "$@" >&2; fi
    exit "$status"
}

# measured ROW FIGURE: writes down what was measured of a row of the fault matrix, for scripts/reliability-page; nothing
# happens unless FEDERATION_RELIABILITY_FILE names the file.
measured() {
    if [[ ${FEDERATION_RELIABILITY_FILE:-} ]]; then printf '%s\t%s\n' "$1" "$2" >>"$FEDERATION_RELIABILITY_FILE"; fi
}

# keep_from_service: what scripts/test tells a script under the service's prefix goes no further; the service would take
# it for a misspelt variable of its own.
keep_from_service() { export -n "${!FEDERATION_TEST_@}" FEDERATION_RELIABILITY_FILE; }

# usage: prints the comment that opens the calling script, without its marks, and ends the script.
usage() {
    sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit "$EX_USAGE"
}
