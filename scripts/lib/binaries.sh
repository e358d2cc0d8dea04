# Owns how the scripts build, and which build of the service and of the simulator they drive.
# shellcheck shell=bash

# The flags of every build: with others the compiler would begin anew. More jobs than processors keep these busy where a
# module waits for another. Debugging information is a fifth of the compilers' work; a failed test names its line
# without it, and packages are stripped. (Without an index store a clean build of tests ends with an error.)
SWIFT_BUILD=(--jobs "$((2 * $(nproc)))" -debug-info-format none)
readonly SWIFT_BUILD

# Debug and release builds share what they compile of C.
if command -v ccache >/dev/null; then
    CC=$(cd "${BASH_SOURCE[0]%/*}" && pwd)/c-compiler
    CCACHE_DIR=${CCACHE_DIR:-${CC%/scripts/*}/.build/ccache}
    export CC CCACHE_DIR
fi

# build PRODUCT…: brings the debug build of the products up to date, and sets `binaries` to the folder that holds them.
build() {
    local product
    for product in "$@"; do swift build "${SWIFT_BUILD[@]}" --product "$product"; done
    binaries=$(swift build --show-bin-path)
}

# find_binaries PRODUCT…: sets `binaries` to the folder that holds them: FEDERATION_TEST_BINARIES, as scripts/test
# --release sets it, or that of the debug build, which is brought up to date.
find_binaries() {
    binaries=${FEDERATION_TEST_BINARIES:-}
    keep_from_service
    if [[ $binaries ]]; then return; fi
    step "Building"
    build "$@"
}
