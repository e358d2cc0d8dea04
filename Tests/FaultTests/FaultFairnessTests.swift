@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite(
        "Applications beside each other",
        .deployed(
            FaultDeployment.document,
            Document(application: "game", mapping: #"{"email": "email"}"#)
        )
    )
    struct Fairness {
        let deployment: Deployment

        init() throws { deployment = try Deployment.current }

        private var game: Document { deployment.documents[1] }

        @Test("an application whose users table is locked, and which is flooded, keeps nobody from another one")
        func lockedTable() async throws {
            let shoppers = try await FaultDeployment.newcomers(48, at: deployment.simulator)
            let player = try await deployment.newcomer()
            _ = try await deployment.loggedIn(player, to: game)
            let statuses = Statuses()
            try await deployment.database.whileLocked("lock table demo.users") {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for shopper in shoppers {
                        group.addTask {
                            while await !statuses.isClosed, !Task.isCancelled {
                                let reply = try await deployment.login(shopper)
                                await statuses.add(reply.status)
                            }
                        }
                    }
                    try await eventually("the flood is refused") { await statuses.all.count > 200 }
                    for _ in 0..<40 { _ = try await deployment.loggedIn(player, to: game) }
                    await statuses.close()
                    try await group.waitForAll()
                }
            }
            let outcomes = await Set(statuses.all)
            #expect(outcomes == [503])
            try await eventually("the flooded application is back") {
                try await deployment.login(shoppers[0]).status == 200
            }
        }
    }
}

/// The statuses of the clients' responses, and whether the clients should stop.
private actor Statuses {
    private(set) var all: [Int] = []
    private(set) var isClosed = false

    func add(_ status: Int) { if !isClosed { all.append(status) } }

    func close() { isClosed = true }
}
