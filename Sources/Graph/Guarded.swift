internal import Glibc

/// A value behind a lock.
///
/// A pthread mutex because ThreadSanitizer sees false races on `Synchronization.Mutex` on Linux. `@unchecked Sendable` because
/// `value` is touched under the lock alone.
final class Guarded<Value: Sendable>: @unchecked Sendable {
    /// On the heap, since a pthread mutex must not move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
