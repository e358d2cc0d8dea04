internal import Glibc

/// A lock that ThreadSanitizer understands on Linux, which `Synchronization.Mutex` is not.
///
/// `@unchecked Sendable` because the storage is touched by the pthread functions alone, which are made for that.
final class PthreadMutex: @unchecked Sendable {
    /// On the heap, since a pthread mutex must not move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}
