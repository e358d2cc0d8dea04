/// The methods by which callers on any thread pass requests to the event loop's thread and wait for the outcome.
extension ConnectionPool {
    /// Passes the request to the event loop and waits for its outcome, or until the task is cancelled.
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

    /// Leases a connection for exclusive use, and waits until one is free.
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
