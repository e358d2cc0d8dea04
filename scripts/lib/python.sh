# Owns virtual environments of Python in .build, for what a script alone needs in versions of its own.
# shellcheck shell=bash

# python_environment DIR PACKAGE==VERSION…: makes one with these packages, unless it is there.
python_environment() {
    local dir=$1 wanted
    shift
    wanted=$*
    if [[ -f $dir/installed && $(<"$dir/installed") == "$wanted" ]]; then return; fi
    step "Installing $wanted"
    rm -rf "$dir"
    python3 -m venv "$dir" || fail "$EX_UNAVAILABLE" "python3 makes no virtual environment; install python3-venv."
    "$dir/bin/pip" install --quiet --disable-pip-version-check "$@" >&2 ||
        fail "$EX_UNAVAILABLE" "pip could not install $wanted."
    printf '%s\n' "$wanted" >"$dir/installed"
}
