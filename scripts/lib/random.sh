# Owns randomness for the scripts: generated secrets and free ports.
# shellcheck shell=bash

# random_hex BYTES: that many random bytes in hexadecimal.
random_hex() {
    od -An -v -N "$1" -tx1 /dev/urandom | tr -d ' \n'
}

# random_base64 BYTES: that many random bytes in base64 on one line.
random_base64() {
    head -c "$1" /dev/urandom | base64 | tr -d '\n'
}

# free_ports COUNT: distinct loopback ports on which nothing listens, a line each. They lie below the kernel's ephemeral
# range, so that no outgoing connection takes one between this look and the bind.
free_ports() {
    local -A taken=()
    local port
    while ((${#taken[@]} < $1)); do
        port=$((20000 + RANDOM % 12000))
        if [[ -v taken[$port] ]] || (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue; fi
        taken[$port]=1
        printf '%s\n' "$port"
    done
}
