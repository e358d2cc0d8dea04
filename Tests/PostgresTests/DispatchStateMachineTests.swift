import Testing

@testable import Postgres

@Suite("Which connection a statement goes to")
struct DispatchStateMachineTests {
    typealias Machine = DispatchStateMachine<String>

    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    private func nextOf(_ machine: inout Machine) -> String? {
        machine.next(now: at(0)).map { "\($0.request)→\($0.lane)" }
    }

    @Test("the least loaded lane is taken, the first of equals")
    func leastLoaded() {
        var machine = Machine(lanes: 2, depth: 2, maxWaiting: 1)
        machine.opened(lane: 0, now: at(0))
        machine.opened(lane: 1, now: at(0))
        #expect(machine.submit("a", deadline: at(1), now: at(0)) == .send(lane: 0))
        #expect(machine.submit("b", deadline: at(1), now: at(0)) == .send(lane: 1))
        #expect(machine.submit("c", deadline: at(1), now: at(0)) == .send(lane: 0))
        machine.completed(lane: 1, now: at(0))
        #expect(machine.submit("d", deadline: at(1), now: at(0)) == .send(lane: 1))
        #expect(machine.inFlight == 3)
    }

    @Test("a lane that is held up is passed over as long as there is another one with room")
    func stalled() {
        var machine = Machine(lanes: 2, depth: 3, maxWaiting: 1)
        machine.opened(lane: 0, now: at(0))
        machine.opened(lane: 1, now: at(0))
        #expect(machine.submit("slow", deadline: at(1000), now: at(0)) == .send(lane: 0))
        #expect(machine.submit("a", deadline: at(1000), now: at(0)) == .send(lane: 1))
        machine.completed(lane: 1, now: at(15))
        #expect(machine.submit("b", deadline: at(1000), now: at(21)) == .send(lane: 1))
        #expect(machine.submit("c", deadline: at(1000), now: at(22)) == .send(lane: 1))
        #expect(machine.submit("d", deadline: at(1000), now: at(23)) == .send(lane: 1))
        #expect(machine.submit("e", deadline: at(1000), now: at(24)) == .send(lane: 0))
        machine.completed(lane: 0, now: at(25))
        machine.completed(lane: 1, now: at(25))
        // Lane 0 has completed a statement, but slowly, and still has another one.
        #expect(machine.submit("f", deadline: at(1000), now: at(26)) == .send(lane: 1))
    }

    @Test("where all are slow, what comes is spread over them, whichever was answered last")
    func allSlow() {
        var machine = Machine(lanes: 2, depth: 64, maxWaiting: 1)
        machine.opened(lane: 0, now: at(0))
        machine.opened(lane: 1, now: at(0))
        for name in ["a", "b", "c", "d"] { _ = machine.submit(name, deadline: at(9000), now: at(0)) }
        machine.completed(lane: 1, now: at(500))
        for (name, lane) in [("e", 1), ("f", 0), ("g", 1), ("h", 0)] {
            #expect(machine.submit(name, deadline: at(9000), now: at(501)) == .send(lane: lane))
        }
        // A quick response makes the lane as good as any other.
        machine.completed(lane: 1, now: at(505))
        #expect(machine.submit("i", deadline: at(9000), now: at(506)) == .send(lane: 1))
        #expect(machine.submit("k", deadline: at(9000), now: at(507)) == .send(lane: 1))
    }

    @Test("what finds no room waits, in order, and beyond the bound is refused")
    func waiting() {
        var machine = Machine(lanes: 1, depth: 1, maxWaiting: 2)
        machine.opened(lane: 0, now: at(0))
        #expect(machine.submit("a", deadline: at(1), now: at(0)) == .send(lane: 0))
        #expect(machine.submit("b", deadline: at(1), now: at(0)) == .wait)
        #expect(machine.submit("c", deadline: at(1), now: at(0)) == .wait)
        #expect(machine.submit("d", deadline: at(1), now: at(0)) == .overloaded)
        #expect(nextOf(&machine) == nil)
        machine.completed(lane: 0, now: at(0))
        #expect(nextOf(&machine) == "b→0")
        #expect(nextOf(&machine) == nil)
        // No statement overtakes a waiting one.
        machine.completed(lane: 0, now: at(0))
        #expect(machine.submit("e", deadline: at(1), now: at(0)) == .wait)
        #expect(nextOf(&machine) == "c→0")
    }

    @Test("a closed lane frees its room, and what was not sent goes to another lane")
    func closing() {
        var machine = Machine(lanes: 2, depth: 1, maxWaiting: 5)
        machine.opened(lane: 0, now: at(0))
        #expect(machine.submit("a", deadline: at(1), now: at(0)) == .send(lane: 0))
        #expect(machine.submit("b", deadline: at(2), now: at(0)) == .wait)
        machine.returned("a", deadline: at(1), from: 0)
        machine.closed(lane: 0)
        #expect(machine.inFlight == 0)
        machine.opened(lane: 1, now: at(0))
        #expect(nextOf(&machine) == "a→1")
        machine.completed(lane: 1, now: at(0))
        #expect(nextOf(&machine) == "b→1")
    }

    @Test("a lane that retires takes nothing more and ends when it is empty")
    func retiring() {
        var machine = Machine(lanes: 2, depth: 5, maxWaiting: 5)
        machine.opened(lane: 0, now: at(0))
        machine.opened(lane: 1, now: at(0))
        #expect(machine.submit("a", deadline: at(1), now: at(0)) == .send(lane: 0))
        #expect(machine.retire(lane: 0) == false)
        #expect(machine.retire(lane: 1) == true)
        machine.closed(lane: 1)
        #expect(machine.submit("b", deadline: at(1), now: at(0)) == .wait)
        machine.completed(lane: 0, now: at(0))
        #expect(nextOf(&machine) == nil)
        machine.closed(lane: 0)
        machine.opened(lane: 0, now: at(0))
        #expect(nextOf(&machine) == "b→0")
    }

    @Test("who has waited too long learns why")
    func expiry() {
        var machine = Machine(lanes: 1, depth: 1, maxWaiting: 5)
        #expect(machine.submit("a", deadline: at(10), now: at(0)) == .wait)
        #expect(machine.submit("b", deadline: at(20), now: at(0)) == .wait)
        #expect(machine.nextDeadline == at(10))
        #expect(machine.expire(now: at(9)).requests == [])
        #expect(machine.expire(now: at(10)) == (["a"], .unavailable))
        machine.opened(lane: 0, now: at(0))
        #expect(nextOf(&machine) == "b→0")
        #expect(machine.submit("c", deadline: at(30), now: at(0)) == .wait)
        #expect(machine.expire(now: at(30)) == (["c"], .busy))
        #expect(machine.nextDeadline == nil)
    }

    @Test("who has gone waits no longer")
    func cancelling() {
        var machine = Machine(lanes: 1, depth: 1, maxWaiting: 5)
        for request in ["a", "b", "c"] { #expect(machine.submit(request, deadline: at(1), now: at(0)) == .wait) }
        #expect(machine.cancel { $0 == "b" } == true)
        #expect(machine.cancel { $0 == "b" } == false)
        #expect(machine.waiting == 2)
        machine.opened(lane: 0, now: at(0))
        #expect(nextOf(&machine) == "a→0")
        machine.completed(lane: 0, now: at(0))
        #expect(nextOf(&machine) == "c→0")
    }

    @Test("after the end nothing is taken")
    func shutDown() {
        var machine = Machine(lanes: 1, depth: 1, maxWaiting: 5)
        _ = machine.submit("a", deadline: at(1), now: at(0))
        #expect(machine.shutDown() == ["a"])
        #expect(machine.submit("b", deadline: at(1), now: at(0)) == .shutDown)
    }
}

@Suite("The queue on an array")
struct FIFOTests {
    @Test("elements leave in the order in which they came, however many")
    func order() {
        var queue = FIFO<Int>()
        var expected: [Int] = []
        var taken: [Int] = []
        for number in 0..<1000 {
            queue.append(number)
            expected.append(number)
            if number % 3 == 0, let first = queue.popFirst() { taken.append(first) }
        }
        queue.prepend(-1)
        #expect(queue.first == -1)
        #expect(queue.popFirst() == -1)
        #expect(queue.remove { $0 == 500 } == 500)
        #expect(queue.remove { $0 == 0 } == nil)
        taken += queue.removeAll()
        #expect(taken == expected.filter { $0 != 500 })
        #expect(queue.isEmpty)
        #expect(queue.popFirst() == nil)
    }
}
