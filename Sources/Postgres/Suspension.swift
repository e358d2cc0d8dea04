internal import NIOConcurrencyHelpers

// How a caller waits for the loop.
//
// Continuations are checked in every build, so tests run the code that ships. The check that each continuation is
// resumed exactly once costs a fraction of a microsecond.
//
// The lock orders the resuming thread before the resumed task. The runtime does so, too. But if a caller is resumed
// before it is suspended, ThreadSanitizer does not see the runtime's order.

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
