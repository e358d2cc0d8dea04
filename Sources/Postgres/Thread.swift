internal import CLibPQ
internal import Glibc

/// Threads for work that blocks, which must not occupy one of the few threads that run Swift tasks.
enum Thread {
    /// Starts a thread that runs `body` and then ends.
    ///
    /// Returns false if the system cannot create a thread.
    ///
    /// The thread blocks all signals, so that other threads handle them. A thread's name has at most 15 bytes.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        var thread = pthread_t()
        let context = Unmanaged.passRetained(Body(body))
        let status = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        guard status == 0 else {
            context.release()
            return false
        }
        pthread_setname_np(thread, name)
        pthread_detach(thread)
        return true
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
