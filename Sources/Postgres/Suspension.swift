// How a caller waits for the loop.
//
// Debug builds, and so the tests, check that each continuation is resumed exactly once, and show ThreadSanitizer what the
// runtime does not: that the one who waits goes on after the one who resumed. When that one is so fast that the caller
// has not gone to sleep yet, the sanitizer sees no order between the two and reports a race on whatever was handed over
// (a bare pthread that resumes a continuation is enough to see it). Release builds spare the bookkeeping.

#if DEBUG
struct Continuation<Value: Sendable>: Sendable {
    fileprivate let checked: CheckedContinuation<Value, Never>
    fileprivate let order: Guarded<Bool>

    func resume(returning value: Value) {
        order.withLock { $0 = true }
        checked.resume(returning: value)
    }
}

extension Continuation<Void> {
    func resume() {
        resume(returning: ())
    }
}

nonisolated(nonsending) func suspend<Value: Sendable>(_ body: (Continuation<Value>) -> Void) async -> Value {
    let order = Guarded(false)
    let value = await withCheckedContinuation { body(Continuation(checked: $0, order: order)) }
    order.withLock { _ in }
    return value
}
#else
typealias Continuation<Value> = UnsafeContinuation<Value, Never>

nonisolated(nonsending) func suspend<Value: Sendable>(_ body: (Continuation<Value>) -> Void) async -> Value {
    await withUnsafeContinuation(body)
}
#endif
