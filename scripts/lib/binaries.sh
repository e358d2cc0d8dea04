# Owns which build of the service and of the simulator a script drives.
# shellcheck shell=bash

# find_binaries PRODUCT…: sets `binaries` to the folder that holds them: FEDERATION_TEST_BINARIES, as scripts/test
# --release sets it, or that of the debug build, which is brought up to date.
find_binaries() {
    local product
    binaries=${FEDERATION_TEST_BINARIES:-}
    if [[ $binaries ]]; then return; fi
    step "Building"
    for product in "$@"; do swift build --product "$product"; done
    binaries=$(swift build --show-bin-path)
}
