import Glibc

/// Runs a closure and measures the processor time that the current thread needs for it.
///
/// The time of other threads and processes does not count.
package func processorTime<Result>(of body: () throws -> Result) rethrows -> (time: Duration, result: Result) {
    let start = threadTime()
    let result = try body()
    return (threadTime() - start, result)
}

private func threadTime() -> Duration {
    var time = timespec()
    let status = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    precondition(status == 0, "Linux has this clock")
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
