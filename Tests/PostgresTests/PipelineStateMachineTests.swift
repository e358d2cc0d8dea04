import Testing

@testable import Postgres

@Suite("The order of a pipeline")
struct PipelineStateMachineTests {
    typealias Machine = PipelineStateMachine<String, String>

    /// Returns the reactions of a machine to a series of events, as text.
    private func trace(_ machine: inout Machine, _ events: Machine.Event...) -> [String] {
        events.map { event in
            switch machine.receive(event) {
            case .proceed: return "proceed"
            case .wait: return "wait"
            case .violation: return "violation"
            case .complete(let completion):
                var text = completion.request
                switch completion.outcome {
                case .success(let reply): text += "=\(reply)"
                case .failure(let reply): text += "!\(reply)"
                case .nothing: text += "?"
                }
                if completion.isAbandoned { text += " abandoned" }
                if completion.failedToPrepare { text += " unprepared" }
                return text
            }
        }
    }

    @Test("a statement is complete at its sync, and not before")
    func plain() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        #expect(trace(&machine, .success("1"), .end) == ["proceed", "proceed"])
        #expect(machine.inFlight == 1)
        #expect(trace(&machine, .sync) == ["a=1"])
        #expect(machine.isEmpty)
    }

    @Test("a preparation comes before the statement's own result")
    func prepared() {
        var machine = Machine()
        machine.sent("a", preparing: true)
        #expect(
            trace(&machine, .success("prepared"), .end, .success("1"), .end, .sync)
                == ["proceed", "proceed", "proceed", "proceed", "a=1"]
        )
    }

    @Test("replies go to statements in the order in which they were sent")
    func order() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        machine.sent("b", preparing: true)
        machine.sent("c", preparing: false)
        let events: [Machine.Event] = [
            .success("1"), .end, .sync, .success("p"), .end, .success("2"), .end, .sync, .success("3"), .end, .sync,
        ]
        #expect(events.flatMap { trace(&machine, $0) }.filter { $0 != "proceed" } == ["a=1", "b=2", "c=3"])
    }

    @Test("an error ends with its own statement")
    func failure() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        machine.sent("b", preparing: false)
        #expect(trace(&machine, .failure("bad"), .end, .sync) == ["proceed", "proceed", "a!bad"])
        #expect(trace(&machine, .success("2"), .end, .sync) == ["proceed", "proceed", "b=2"])
    }

    @Test("a preparation that fails skips the statement")
    func failedPreparation() {
        var machine = Machine()
        machine.sent("a", preparing: true)
        #expect(
            trace(&machine, .failure("bad"), .end, .skipped, .end, .sync)
                == ["proceed", "proceed", "proceed", "proceed", "a!bad unprepared"]
        )
    }

    @Test("a commit that fails at the sync is a failure of the statement")
    func failureAtSync() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        #expect(
            trace(&machine, .success("1"), .end, .failure("deferred"), .end, .sync)
                == ["proceed", "proceed", "proceed", "wait", "a!deferred"]
        )
    }

    @Test("libpq having nothing moves nothing")
    func spuriousEnd() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        #expect(
            trace(&machine, .end, .end, .success("1"), .end, .end, .sync) == [
                "wait", "wait", "proceed", "proceed", "wait", "a=1",
            ]
        )
    }

    @Test("a caller who has gone keeps its slot, and its neighbours their replies")
    func abandoned() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        machine.sent("b", preparing: false)
        machine.sent("c", preparing: false)
        #expect(machine.abandon { $0 == "b" } == true)
        #expect(machine.abandon { $0 == "x" } == false)
        #expect(machine.inFlight == 3)
        let events: [Machine.Event] = [
            .success("1"), .end, .sync, .success("2"), .end, .sync, .success("3"), .end, .sync,
        ]
        #expect(events.flatMap { trace(&machine, $0) }.filter { $0 != "proceed" } == ["a=1", "b=2 abandoned", "c=3"])
    }

    @Test("when the connection breaks, refused statements keep their refusal and all others are open")
    func lost() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        machine.sent("b", preparing: false)
        machine.sent("c", preparing: true)
        _ = machine.abandon { $0 == "b" }
        _ = trace(&machine, .failure("bad"))
        let orphans = machine.lost()
        #expect(orphans.map(\.request) == ["a", "c"])
        #expect(orphans.map(\.refusal) == ["bad", nil])
        #expect(machine.isEmpty)
    }

    @Test("a result without its sync does not count when the connection breaks")
    func lostBeforeSync() {
        var machine = Machine()
        machine.sent("a", preparing: false)
        _ = trace(&machine, .success("1"), .end)
        #expect(machine.lost().map(\.refusal) == [nil])
    }

    @Test("what no statement asked for is a violation")
    func violations() {
        var machine = Machine()
        #expect(trace(&machine, .success("1")) == ["violation"])
        machine.sent("a", preparing: false)
        #expect(trace(&machine, .sync) == ["violation"])
        #expect(trace(&machine, .unsupported) == ["violation"])
        #expect(trace(&machine, .success("1"), .success("2")) == ["proceed", "violation"])
    }
}
