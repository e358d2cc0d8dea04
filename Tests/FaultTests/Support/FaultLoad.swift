import TestSupport
import Testing

@testable import ServerTestSupport

extension FaultDeployment {
    /// Keeps logins and session checks going at both instances until a closure has ended.
    ///
    /// Each of the workers logs in by turns a regular and a newcomer and asks whether the session of its last login
    /// lives: the answer may be a documented problem, but never `false`.
    ///
    /// - Parameters:
    ///   - workers: Clients, half of them at each instance.
    ///   - body: What happens meanwhile.
    /// - Returns: All logins.
    /// - Throws: What the closure throws.
    func underLoad(workers: Int = 8, _ body: () async throws -> Void) async throws -> [LoginAttempt] {
        let regulars = try await regulars(workers)
        let newcomers = Newcomers(try await newcomers(600))
        let attempts = Attempts()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    let instance = instances[worker % instances.count]
                    while await !attempts.isClosed {
                        let visitor = await newcomers.next() ?? regulars[worker]
                        for visitor in [regulars[worker], visitor] {
                            let attempt = try await logIn(visitor, at: instance)
                            await attempts.add(attempt)
                            guard let token = attempt.signedIn?.token else { continue }
                            try await expectNotInvalid(token, at: instance)
                        }
                        // Not more than both processors can do beside what the test breaks.
                        try await Task.sleep(for: .milliseconds(10))
                    }
                }
            }
            do {
                try await body()
            } catch {
                await attempts.close()
                throw error
            }
            await attempts.close()
            try await group.waitForAll()
        }
        return await attempts.all
    }

    /// Keeps one person logging in at both instances, eight times at once, until a closure has ended.
    ///
    /// - Returns: All logins, and what the closure returned.
    func whileLoggingIn<Result: Sendable>(
        _ visitor: Visitor,
        _ body: () async throws -> Result
    ) async throws -> (attempts: [LoginAttempt], result: Result) {
        let attempts = Attempts()
        let result = try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    while await !attempts.isClosed {
                        await attempts.add(try await logIn(visitor, at: instances[worker % instances.count]))
                    }
                }
            }
            do {
                let result = try await body()
                await attempts.close()
                try await group.waitForAll()
                return result
            } catch {
                await attempts.close()
                throw error
            }
        }
        return (await attempts.all, result)
    }

    private func expectNotInvalid(_ token: String, at instance: Deployment) async throws {
        let reply = try await instance.get("users/isvalidusertoken/\(token)")
        if reply.status == 200 {
            #expect(reply.text == "true", "a session that a client was just given")
        } else {
            try expectProblem(reply, oneOf: ["store_unavailable", "overloaded"])
        }
    }

    private actor Newcomers {
        private var rest: [Visitor]

        init(_ visitors: [Visitor]) { rest = visitors }

        func next() -> Visitor? { rest.popLast() }
    }

    private actor Attempts {
        private(set) var all: [LoginAttempt] = []
        private(set) var isClosed = false

        func add(_ attempt: LoginAttempt) { all.append(attempt) }

        func close() { isClosed = true }
    }
}
