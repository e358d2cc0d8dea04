import Testing
import TestSupport

@testable import ServerTestSupport

extension FaultDeployment {
    /// Keeps logins and session checks going at both instances until a closure has ended.
    ///
    /// Each worker alternately logs in a regular and a newcomer, and checks the session of its last login: the response
    /// may be a documented error, but never `false`.
    ///
    /// - Parameters:
    ///   - workers: The number of clients, half of them at each instance.
    ///   - body: Runs meanwhile.
    /// - Returns: All logins.
    /// - Throws: The closure's error.
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
                        // Leave processor time for the parts that the test breaks.
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

    /// Keeps one user logging in at both instances, eight times concurrently, until a closure has ended.
    ///
    /// - Returns: All logins, and the result of the closure.
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
