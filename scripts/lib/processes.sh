# Owns the background processes of a script: starts each with a log of its own, waits until it answers, stops all of
# them. They end with the script, even when that is killed.
# shellcheck shell=bash

process_names=()
process_ids=()
process_logs=()

# start_process NAME LOG COMMAND…
start_process() {
    local name=$1 log=$2
    shift 2
    # In a session of its own, so that a terminal's Ctrl-C reaches the script alone, which then stops all in order. The
    # caller's lock (descriptor 8) must not live on in the process.
    setpriv --pdeathsig TERM -- setsid "$@" >"$log" 2>&1 </dev/null 8>&- &
    process_names+=("$name")
    process_ids+=($!)
    process_logs+=("$log")
}

# wait_for_process NAME SECONDS PROBE…: until the probe succeeds; fails with the end of the log when the process ends
# first or takes too long.
wait_for_process() {
    local name=$1 deadline=$((SECONDS + $2)) index
    shift 2
    for index in "${!process_names[@]}"; do
        if [[ ${process_names[index]} == "$name" ]]; then break; fi
    done
    until "$@" 2>/dev/null; do
        if ! kill -0 "${process_ids[index]}" 2>/dev/null; then
            fail 1 "$name ended; the end of ${process_logs[index]}:" "$(tail -n 20 "${process_logs[index]}")"
        elif ((SECONDS >= deadline)); then
            fail 1 "$name does not answer; the end of ${process_logs[index]}:" "$(tail -n 20 "${process_logs[index]}")"
        fi
        sleep 0.1
    done
}

# stop_processes: asks them to end, the latest first; one that does not within 15 seconds is killed.
stop_processes() {
    local index waited
    for ((index = ${#process_ids[@]} - 1; index >= 0; index--)); do
        kill -TERM "${process_ids[index]}" 2>/dev/null || continue
        for ((waited = 0; waited < 150; waited++)); do
            kill -0 "${process_ids[index]}" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "${process_ids[index]}" 2>/dev/null || true
        wait "${process_ids[index]}" 2>/dev/null || true
    done
    process_names=() process_ids=() process_logs=()
}
