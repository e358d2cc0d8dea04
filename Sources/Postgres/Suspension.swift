internal import NIOConcurrencyHelpers

// How a caller waits for the loop.
//
// Continuations are checked in every build: the check that each one is resumed exactly once is worth its fraction of a
// microsecond, and tests run the code that ships. The lock orders the resuming thread before the resumed task. When the
// resumption comes before the caller is suspended, the runtime orders them in a way that ThreadSanitizer does not see.

struct Continuation<Value: Sendable>: Sendable {
    fileprivate let checked: CheckedContinuation<Value, Never>
    fileprivate let order: NIOLockedValueBox<Bool>

    func resume(returning value: Value) {
        order.withLockedValue { $0 = true }
        checked.resume(returning: value)
    }
}

extension Continuation<Void> {
    func resume() {
        resume(returning: ())
    }
}

nonisolated(nonsending) func suspend<Value: Sendable>(_ body: (Continuation<Value>) -> Void) async -> Value {
    let order = NIOLockedValueBox(false)
    let value = await withCheckedContinuation { body(Continuation(checked: $0, order: order)) }
    order.withLockedValue { _ in }
    return value
}
