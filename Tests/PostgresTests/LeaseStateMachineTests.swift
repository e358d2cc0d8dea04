import Testing

@testable import Postgres

@Suite("Who has an exclusive connection")
struct LeaseStateMachineTests {
    typealias Machine = LeaseStateMachine<String>

    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    private func text(_ actions: [Machine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .connect(let place): "connect \(place)"
            case .lease(let place, let serial, let waiter): "lease \(place)#\(serial) to \(waiter)"
            case .close(let place): "close \(place)"
            case .clean(let place): "clean \(place)"
            case .fail(let waiter, let failure): "fail \(waiter): \(failure)"
            }
        }
    }

    @Test("a connection is opened for the one who waits, kept, and lent again")
    func lending() {
        var machine = Machine(places: 2, maxWaiting: 5)
        #expect(text(machine.request("a", deadline: at(1))) == ["connect 0"])
        #expect(text(machine.connected(place: 0)) == ["lease 0#1 to a"])
        #expect(machine.isAlive(place: 0, serial: 1) == true)
        #expect(text(machine.returned(place: 0, serial: 1, as: .clean)) == [])
        #expect(machine.isAlive(place: 0, serial: 1) == nil)
        #expect(text(machine.request("b", deadline: at(1))) == ["lease 0#2 to b"])
        #expect(text(machine.request("c", deadline: at(1))) == ["connect 1"])
        #expect(machine.leased == 1)
    }

    @Test("no more connections are opened than are needed")
    func frugality() {
        var machine = Machine(places: 3, maxWaiting: 5)
        #expect(text(machine.request("a", deadline: at(1))) == ["connect 0"])
        #expect(text(machine.request("b", deadline: at(1))) == ["connect 1"])
        #expect(text(machine.connected(place: 1)) == ["lease 1#1 to a"])
        // b waits for connection 0, which is still being opened, and takes the first free one.
        #expect(text(machine.returned(place: 1, serial: 1, as: .clean)) == ["lease 1#2 to b"])
        #expect(text(machine.connected(place: 0)) == [])
    }

    @Test("those who wait are served in order, and beyond the bound refused")
    func queue() {
        var machine = Machine(places: 1, maxWaiting: 2)
        _ = machine.request("a", deadline: at(1))
        _ = machine.connected(place: 0)
        #expect(text(machine.request("b", deadline: at(2))) == [])
        #expect(text(machine.request("c", deadline: at(3))) == [])
        #expect(text(machine.request("d", deadline: at(4))) == ["fail d: overloaded"])
        #expect(text(machine.expire(now: at(2))) == ["fail b: busy"])
        #expect(text(machine.returned(place: 0, serial: 1, as: .clean)) == ["lease 0#2 to c"])
    }

    @Test("a session that was changed is cleaned before it is lent again")
    func cleaning() {
        var machine = Machine(places: 1, maxWaiting: 5)
        _ = machine.request("a", deadline: at(1))
        _ = machine.connected(place: 0)
        #expect(text(machine.returned(place: 0, serial: 1, as: .dirty)) == ["clean 0"])
        #expect(text(machine.request("b", deadline: at(1))) == [])
        #expect(text(machine.cleaned(place: 0)) == ["lease 0#2 to b"])
    }

    @Test("a connection that breaks while it is lent frees its place when it comes back")
    func losing() {
        var machine = Machine(places: 1, maxWaiting: 5)
        _ = machine.request("a", deadline: at(1))
        _ = machine.connected(place: 0)
        #expect(text(machine.lost(place: 0)) == [])
        #expect(machine.isAlive(place: 0, serial: 1) == false)
        #expect(text(machine.request("b", deadline: at(1))) == [])
        #expect(text(machine.returned(place: 0, serial: 1, as: .broken)) == ["connect 0"])
        #expect(text(machine.connected(place: 0)) == ["lease 0#2 to b"])
    }

    @Test("a connection that breaks while idle or being cleaned is replaced when somebody waits")
    func losingIdle() {
        var machine = Machine(places: 1, maxWaiting: 5)
        _ = machine.request("a", deadline: at(1))
        _ = machine.connected(place: 0)
        _ = machine.returned(place: 0, serial: 1, as: .dirty)
        _ = machine.request("b", deadline: at(1))
        #expect(text(machine.lost(place: 0)) == ["connect 0"])
        #expect(text(machine.connected(place: 0)) == ["lease 0#2 to b"])
        _ = machine.returned(place: 0, serial: 2, as: .clean)
        #expect(text(machine.lost(place: 0)) == [])
        #expect(text(machine.request("c", deadline: at(1))) == ["connect 0"])
    }

    @Test("a session that must not be used again is closed")
    func broken() {
        var machine = Machine(places: 1, maxWaiting: 5)
        _ = machine.request("a", deadline: at(1))
        _ = machine.connected(place: 0)
        _ = machine.request("b", deadline: at(1))
        #expect(text(machine.returned(place: 0, serial: 1, as: .broken)) == ["close 0", "connect 0"])
    }

    @Test("a lease that came back already, or another one's, changes nothing")
    func stale() {
        var machine = Machine(places: 1, maxWaiting: 5)
        _ = machine.request("a", deadline: at(1))
        _ = machine.connected(place: 0)
        _ = machine.returned(place: 0, serial: 1, as: .clean)
        _ = machine.request("b", deadline: at(1))
        #expect(text(machine.returned(place: 0, serial: 1, as: .broken)) == [])
        #expect(machine.isAlive(place: 0, serial: 2) == true)
        #expect(machine.isAlive(place: 7, serial: 2) == nil)
    }

    @Test("an attempt that fails is repeated only while somebody waits")
    func connecting() {
        var machine = Machine(places: 1, maxWaiting: 5)
        _ = machine.request("a", deadline: at(1))
        #expect(text(machine.connectFailed(place: 0)) == ["connect 0"])
        #expect(text(machine.expire(now: at(1))) == ["fail a: unavailable"])
        #expect(text(machine.connectFailed(place: 0)) == [])
        _ = machine.request("b", deadline: at(1))
        #expect(machine.cancel { $0 == "b" } == true)
        #expect(text(machine.connected(place: 0)) == [])
        #expect(text(machine.retireIfIdle(place: 0)) == ["close 0"])
        #expect(text(machine.retireIfIdle(place: 0)) == [])
    }

    @Test("after the end nobody gets a lease, and those that are out are closed when they come back")
    func shutDown() {
        var machine = Machine(places: 3, maxWaiting: 5)
        _ = machine.request("a", deadline: at(1))
        _ = machine.connected(place: 0)
        _ = machine.request("b", deadline: at(1))
        _ = machine.connected(place: 1)
        _ = machine.returned(place: 1, serial: 2, as: .clean)
        _ = machine.request("c", deadline: at(1))
        _ = machine.request("d", deadline: at(1))
        #expect(text(machine.shutDown()) == ["fail d: shutDown", "close 2"])
        #expect(text(machine.request("e", deadline: at(1))) == ["fail e: shutDown"])
        #expect(text(machine.returned(place: 0, serial: 1, as: .clean)) == ["close 0"])
        #expect(text(machine.returned(place: 1, serial: 3, as: .dirty)) == ["close 1"])
        #expect(machine.leased == 0)
    }
}
