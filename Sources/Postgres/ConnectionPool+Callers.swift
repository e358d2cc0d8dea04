/// The methods that callers on any thread use: they pass a request to the event loop's thread, and wait for the
/// outcome.
extension ConnectionPool {
    /// Passes the request to the event loop, and waits for its outcome.
    ///
    /// If `cancellable` is true and the task is cancelled, the wait ends with an error. A statement that was already
    /// sent may still take effect.
    nonisolated(nonsending) func perform(
        _ request: Request,
        cancellable: Bool = true
    ) async throws(PostgresError) -> ResultSet {
        guard cancellable else { return try await outcome(of: request).get() }
        let outcome = await withTaskCancellationHandler {
            await self.outcome(of: request)
        } onCancel: {
            post(.cancel(request))
        }
        return try outcome.get()
    }

    nonisolated(nonsending) private func outcome(of request: Request) async -> Request.Outcome {
        await suspend { continuation in
            request.continuation = continuation
            post(.submit(request))
        }
    }

    /// Waits for a free connection, and leases it for exclusive use.
    nonisolated(nonsending) func acquire(_ purpose: Lease.Purpose) async throws(PostgresError) -> Lease {
        let request = LeaseRequest(purpose)
        let outcome = await withTaskCancellationHandler {
            await suspend { continuation in
                request.continuation = continuation
                post(.lease(request))
            }
        } onCancel: {
            post(.cancelLease(request))
        }
        return try outcome.get()
    }
}
