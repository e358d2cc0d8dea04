import Testing

@testable import Postgres

@Suite("Statements that prefer the same connection")
struct AffinityTests {
    @Suite("Their lanes")
    struct Lanes {
        typealias Machine = DispatchStateMachine<String>

        private let start = ContinuousClock.now
        private let names = (0..<100).map { "application \($0)" }

        private func machine(lanes: Int = 4, depth: Int = 64) -> Machine {
            var machine = Machine(lanes: lanes, depth: depth, maxWaiting: 10)
            for lane in 0..<lanes { machine.opened(lane: lane, now: start) }
            return machine
        }

        private func lane(_ machine: inout Machine, _ affinity: Affinity?) -> Int? {
            guard case .send(let lane) = machine.submit("", near: affinity, deadline: start, now: start) else {
                return nil
            }
            return lane
        }

        /// Returns the lane of a statement that is the only one in flight.
        private func home(_ machine: inout Machine, _ affinity: Affinity) -> Int? {
            let lane = lane(&machine, affinity)
            if let lane { machine.completed(lane: lane, now: start) }
            return lane
        }

        @Test("many affinities that are used in turns have one lane each, and all lanes as many")
        func many() {
            var machine = machine()
            var lanes: [String: Set<Int>] = [:]
            for _ in 0..<20 {
                for name in names {
                    if let lane = home(&machine, Affinity(of: name)) { lanes[name, default: []].insert(lane) }
                }
            }
            #expect(lanes.values.allSatisfy { $0.count == 1 })
            for lane in 0..<4 { #expect(lanes.values.count { $0 == [lane] } == 25) }
        }

        @Test("one that is used a lot is spread over all lanes as if it had no affinity")
        func busy() {
            var machine = machine()
            let affinity = Affinity(of: "busy")
            for _ in 0..<48 { _ = home(&machine, affinity) }
            let lanes = (0..<8).map { _ in lane(&machine, affinity) }
            #expect(lanes.prefix(4).count == Set(lanes.prefix(4)).count, "each on a lane of its own")
            for lane in 0..<4 { #expect(lanes.count { $0 == lane } == 2) }
            // Other affinities have replaced it among the latest, so it has one lane again, like any other.
            for lane in lanes.compactMap(\.self) { machine.completed(lane: lane, now: start) }
            for number in 0..<300 { _ = home(&machine, Affinity(of: "\(number)")) }
            #expect(Set((0..<8).map { _ in lane(&machine, affinity) }).count == 1)
        }

        @Test("a few that share the work have all lanes")
        func few() {
            var machine = machine()
            let affinities = names.prefix(4).map { Affinity(of: $0) }
            for _ in 0..<64 { for affinity in affinities { _ = home(&machine, affinity) } }
            for affinity in affinities {
                let lanes = (0..<4).map { _ in lane(&machine, affinity) }
                #expect(Set(lanes).count == 4)
                for lane in lanes.compactMap(\.self) { machine.completed(lane: lane, now: start) }
            }
        }

        @Test("another lane is taken when the own one is closed, full, held up, or busier by eight statements")
        func otherLanes() throws {
            let affinity = Affinity(of: "x")
            var machine = machine(depth: 20)
            let home = try #require(home(&machine, affinity))
            for _ in 0...8 { #expect(lane(&machine, affinity) == home) }
            #expect(lane(&machine, affinity) == (home + 1) % 4, "nine are before it, and nobody elsewhere")

            machine.closed(lane: home)
            #expect(lane(&machine, affinity) != home)
            machine.opened(lane: home, now: start)
            #expect(lane(&machine, affinity) == home)

            let later = start + .milliseconds(21)
            #expect(machine.submit("", near: affinity, deadline: later, now: later) != .send(lane: home))

            var small = Machine(lanes: 2, depth: 1, maxWaiting: 10)
            for lane in 0..<2 { small.opened(lane: lane, now: start) }
            let lanes = (0..<2).map { _ in lane(&small, affinity) }
            #expect(Set(lanes) == [0, 1])
            #expect(small.submit("waits", near: affinity, deadline: start, now: start) == .wait)
            small.completed(lane: 0, now: start)
            #expect(small.next(now: start)?.lane == 0, "whichever has room")
        }

        @Test("what has no affinity goes where there is least to do, the first of equals")
        func none() {
            var machine = machine()
            #expect((0..<5).map { _ in lane(&machine, nil) } == [0, 1, 2, 3, 0])
        }
    }

    @Suite("On the server")
    struct Server {
        private func pid(_ client: PostgresClient, _ affinity: Affinity) async throws -> Int {
            try #require(
                try await client.query("SELECT pg_backend_pid()::bigint", near: affinity).first(Int.self)
            )
        }

        /// Returns the server processes of each affinity, which take turns.
        private func processes(_ client: PostgresClient, of names: [String]) async throws -> [String: Set<Int>] {
            var processes: [String: Set<Int>] = [:]
            for _ in 0..<3 {
                for name in names { processes[name, default: []].insert(try await pid(client, Affinity(of: name))) }
            }
            return processes
        }

        @Test("each affinity is known to one connection, and to another one when that is lost")
        func failover() async throws {
            try await withClient { client in
                #expect(await eventually { await client.status().pipelinedOpen == 4 })
                let names = (0..<40).map { "application \($0)" }
                let before = try await processes(client, of: names)
                #expect(before.values.allSatisfy { $0.count == 1 })
                #expect(before.values.reduce(into: Set()) { $0.formUnion($1) }.count == 4)
                let lost = try #require(before[names[0]]?.first)
                _ = try await client.withConnection { connection in
                    try await connection.query("SELECT pg_terminate_backend(\(lost)::integer)")
                }
                #expect(await eventually { await client.status().connectionsLost == 1 })
                for name in names { #expect(try await pid(client, Affinity(of: name)) != lost) }
                #expect(await eventually { await client.status().pipelinedOpen == 4 })
                let after = try await processes(client, of: names)
                for (name, process) in before where process != [lost] { #expect(after[name] == process) }
            }
        }
    }
}
