import Testing

@testable import Postgres

@Suite("What a stream of notifications does with its connection")
struct ListenStateMachineTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func machine() -> ListenStateMachine {
        ListenStateMachine(pause: .seconds(10), timeout: .seconds(5))
    }

    @Test("it asks to listen, says so once, and asks again and again for a sign of life")
    func living() {
        var machine = machine()
        #expect(machine.nextDeadline == nil)
        #expect(machine.tick(now: at(100)) == nil)
        #expect(machine.connected(now: at(0)) == .listen)
        #expect(machine.isListening == false)
        #expect(machine.answered(isRefusal: false, now: at(1)) == .announce)
        #expect(machine.isListening == true)
        #expect(machine.nextDeadline == at(11))
        #expect(machine.tick(now: at(10)) == nil)
        #expect(machine.tick(now: at(11)) == .listen)
        #expect(machine.isListening == true)
        #expect(machine.answered(isRefusal: false, now: at(12)) == nil)
        #expect(machine.tick(now: at(21)) == nil)
        #expect(machine.tick(now: at(22)) == .listen)
    }

    @Test("a connection that does not answer is given up, and a new one asks anew")
    func dying() {
        var machine = machine()
        _ = machine.connected(now: at(0))
        _ = machine.answered(isRefusal: false, now: at(0))
        #expect(machine.tick(now: at(10)) == .listen)
        #expect(machine.nextDeadline == at(15))
        #expect(machine.tick(now: at(14)) == nil)
        #expect(machine.tick(now: at(15)) == .drop)
        machine.lost()
        #expect(machine.isListening == false)
        #expect(machine.nextDeadline == nil)
        #expect(machine.connected(now: at(16)) == .listen)
        #expect(machine.answered(isRefusal: false, now: at(16)) == .announce)
    }

    @Test("so is one that never answered")
    func silent() {
        var machine = machine()
        _ = machine.connected(now: at(0))
        #expect(machine.tick(now: at(4)) == nil)
        #expect(machine.tick(now: at(5)) == .drop)
    }

    @Test("a server that refuses to listen is asked again after the pause, over the same connection")
    func refusing() {
        var machine = machine()
        _ = machine.connected(now: at(0))
        #expect(machine.answered(isRefusal: true, now: at(1)) == nil)
        #expect(machine.isListening == false)
        #expect(machine.tick(now: at(10)) == nil)
        #expect(machine.tick(now: at(11)) == .listen)
        #expect(machine.answered(isRefusal: false, now: at(11)) == .announce)
    }

    @Test("a refusal is a sign of life, and does not end what was granted")
    func refusedAgain() {
        var machine = machine()
        _ = machine.connected(now: at(0))
        _ = machine.answered(isRefusal: false, now: at(0))
        _ = machine.tick(now: at(10))
        #expect(machine.answered(isRefusal: true, now: at(11)) == nil)
        #expect(machine.isListening == true)
        #expect(machine.nextDeadline == at(21))
        #expect(machine.tick(now: at(21)) == .listen)
        #expect(machine.answered(isRefusal: false, now: at(21)) == nil)
    }
}

@Suite("Notifications that wait for their reader")
struct NotificationQueueTests {
    private func payload(_ number: Int) -> PostgresNotification { .received(payload: "\(number)") }

    private func taken(_ queue: NotificationQueue) -> [PostgresNotification] {
        var queue = queue
        var all: [PostgresNotification] = []
        while let next = queue.popFirst() { all.append(next) }
        return all
    }

    @Test("they keep their order")
    func order() {
        var queue = NotificationQueue()
        for notification in [.listening, payload(1), payload(2)] { queue.append(notification) }
        #expect(taken(queue) == [.listening, payload(1), payload(2)])
    }

    @Test("the word that some were missed takes the place of those before it")
    func coalescing() {
        var queue = NotificationQueue()
        for notification in [.listening, payload(1), .listening, .listening, payload(2)] { queue.append(notification) }
        #expect(taken(queue) == [.listening, payload(2)])
    }

    @Test("too many become the word that some were missed, and none is lost after it")
    func bound() {
        var queue = NotificationQueue()
        for number in 0..<1000 {
            queue.append(payload(number))
            #expect(taken(queue).count <= NotificationQueue.capacity)
        }
        let all = taken(queue)
        #expect(all.first == .listening)
        #expect(Array(all.dropFirst()) == ((1001 - all.count)..<1000).map(payload))
        #expect(all.count > 1)
    }
}
