import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("An application is changed while people log in", .faulty())
    struct Changes {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        /// Logs users in at both instances, all users concurrently and repeatedly, until a closure has ended.
        ///
        /// - Returns: The responses.
        private func logins(
            of visitors: [Visitor],
            to document: Document,
            while body: () async throws -> Void
        ) async throws -> [HTTPReply] {
            let isOver = Flag()
            return try await withThrowingTaskGroup(of: [HTTPReply].self) { group in
                for (number, visitor) in visitors.enumerated() {
                    let instance = faults.instances[number % faults.instances.count]
                    group.addTask {
                        var replies: [HTTPReply] = []
                        while await !isOver.isRaised {
                            replies.append(try await instance.login(visitor, to: document))
                        }
                        return replies
                    }
                }
                do {
                    try await body()
                } catch {
                    await isOver.raise()
                    throw error
                }
                await isOver.raise()
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }

        /// Creates users, and waits until both instances serve the application.
        private func regulars(_ count: Int, of document: Document) async throws -> [Visitor] {
            let visitors = try await faults.newcomers(count)
            for instance in faults.instances {
                try await eventually("the application is there") {
                    try await instance.login(visitors[0], to: document).status == 200
                }
            }
            return visitors
        }

        @Test("properties are renamed, declared and removed one after the other, and no login fails")
        func properties() async throws {
            let document = Document(
                application: "changing",
                properties: #"{"name0": {"type": "STRING"}}"#,
                mapping: #"[{"from": "first_name", "to": "name0"}, {"from": "email", "to": "email"}]"#
            )
            try await document.apply(to: faults.database)
            let visitors = try await regulars(8, of: document)
            let owner = try await faults.instances[0].admin()
            let path = "applications/changing/properties"
            let rounds = 20
            let replies = try await logins(of: visitors, to: document) {
                for round in 1...rounds {
                    try await owner.ask("PATCH", "\(path)/name\(round - 1)", #"{"name": "name\#(round)"}"#)
                    try await owner.ask("POST", path, #"{"name": "brief\#(round)", "type": "INT"}"#)
                    try await owner.ask("DELETE", "\(path)/brief\(round)?confirm=brief\(round)")
                }
            }
            let failed = replies.filter { $0.status != 200 }
            #expect(replies.count > visitors.count)
            #expect(failed.isEmpty, "\(failed.count) of \(replies.count): \(failed.first?.text ?? "")")
            let last = try await faults.instances[1].loggedIn(visitors[0], to: document)
            #expect(last.user["name\(rounds)"]?.string == "Ann")
        }

        @Test("an application is removed, and logins say so")
        func removal() async throws {
            for round in 1...5 {
                let document = Document(
                    application: "leaving\(round)",
                    properties: #"{"givenName": {"type": "STRING"}}"#,
                    mapping: #"{"first_name": "givenName"}"#
                )
                try await document.apply(to: faults.database)
                let visitors = try await regulars(8, of: document)
                let owner = try await faults.instances[0].admin()
                let path = "applications/\(document.application)?confirm=\(document.application)"
                let replies = try await logins(of: visitors, to: document) {
                    try await owner.ask("DELETE", path)
                    for instance in faults.instances {
                        try await eventually("it is gone") {
                            try await instance.login(visitors[0], to: document).status == 401
                        }
                    }
                }
                for reply in replies where reply.status != 200 { try expectProblem(reply, "unknown_application") }
            }
        }
    }
}
