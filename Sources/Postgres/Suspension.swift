// How a caller waits for the loop.
//
// Debug builds, and so the tests, check that each continuation is resumed exactly once. They also keep ThreadSanitizer
// quiet, which reports a race inside `withUnsafeContinuation` itself when another thread resumes before the caller has
// gone to sleep (a continuation resumed from a bare pthread is enough to see it): it does not see how the runtime orders
// the two. Release builds spare the bookkeeping.

#if DEBUG
typealias Continuation<Value> = CheckedContinuation<Value, Never>

nonisolated(nonsending) func suspend<Value: Sendable>(_ body: (Continuation<Value>) -> Void) async -> Value {
    await withCheckedContinuation(body)
}
#else
typealias Continuation<Value> = UnsafeContinuation<Value, Never>

nonisolated(nonsending) func suspend<Value: Sendable>(_ body: (Continuation<Value>) -> Void) async -> Value {
    await withUnsafeContinuation(body)
}
#endif
