import Testing
import Vocabulary

@testable import Limiting

private typealias Instant = ContinuousClock.Instant

private func application(_ name: String) throws -> ApplicationID { try #require(ApplicationID(name)) }

@Suite("An adaptive limit")
struct AdaptiveLimitTests {
    private static func limit(_ range: ClosedRange<Int> = 10...1000) -> AdaptiveLimit {
        AdaptiveLimit(range, target: .milliseconds(100), interval: .milliseconds(500))
    }

    /// Delays that come every 50 ms for a time, and as much under way as there may be.
    private static func feed(
        _ limit: inout AdaptiveLimit,
        _ delays: [Duration],
        for time: Duration,
        from start: Instant,
        underWay: Int? = nil
    ) -> Instant {
        var now = start
        var position = 0
        while now < start + time {
            limit.note(underWay: underWay ?? limit.limit)
            limit.observe(delays[position % delays.count], at: now)
            position += 1
            now += .milliseconds(50)
        }
        return now
    }

    @Test("a delay that stands has it shrink to its bound, and no further")
    func shrinks() {
        var limit = Self.limit()
        let now = Self.feed(&limit, [.milliseconds(300)], for: .seconds(2), from: .now)
        #expect((200...500).contains(limit.limit))
        _ = Self.feed(&limit, [.milliseconds(300)], for: .seconds(60), from: now)
        #expect(limit.limit == 10)
    }

    @Test("it shrinks from what was reached, not from what it was")
    func fromReached() {
        var limit = Self.limit()
        _ = Self.feed(&limit, [.milliseconds(300)], for: .milliseconds(600), from: .now, underWay: 40)
        #expect(limit.limit == 30)
    }

    @Test("slow ones among quick ones change nothing")
    func outliers() {
        var limit = Self.limit()
        let delays: [Duration] = [.seconds(2), .seconds(2), .seconds(2), .milliseconds(5)]
        _ = Self.feed(&limit, delays, for: .seconds(60), from: .now)
        #expect(limit.limit == 1000)
    }

    @Test("it grows again when the delay is gone, where it is reached and where nobody comes near it")
    func grows() {
        for underWay in [nil, 1] {
            var limit = Self.limit()
            let now = Self.feed(&limit, [.milliseconds(300)], for: .seconds(60), from: .now)
            _ = Self.feed(&limit, [.milliseconds(1)], for: .seconds(90), from: now, underWay: underWay)
            #expect(limit.limit == 1000)
        }
    }

    @Test("a delay near the target leaves it as it is where nobody reaches it")
    func stays() {
        var limit = Self.limit()
        var now = Self.feed(&limit, [.milliseconds(300)], for: .seconds(2), from: .now)
        now = Self.feed(&limit, [.milliseconds(80)], for: .seconds(1), from: now, underWay: 1)
        let before = limit.limit
        #expect(before < 1000)
        _ = Self.feed(&limit, [.milliseconds(80)], for: .seconds(60), from: now, underWay: 1)
        #expect(limit.limit == before)
    }
}

@Suite("The entrance")
struct EntranceTests {
    private static func entrance(_ places: Int) -> Entrance {
        Entrance(limit: AdaptiveLimit(1...places, target: .milliseconds(100), interval: .milliseconds(500)))
    }

    @Test("one application alone has all places, and no more")
    func alone() throws {
        var entrance = Self.entrance(80)
        let shop = try application("shop")
        #expect((0..<100).count { _ in entrance.enter(shop) } == 80)
        entrance.leave(shop)
        #expect(entrance.enter(shop) == true)
        #expect(entrance.enter(shop) == false)
    }

    @Test("whoever floods it leaves places for those who have less than their share")
    func fair() throws {
        var entrance = Self.entrance(80)
        let (shop, game, news) = (try application("shop"), try application("game"), try application("news"))
        #expect(entrance.enter(game) == true)
        #expect((0..<1000).count { _ in entrance.enter(shop) } == 69, "all but the last eighth")
        #expect((0..<1000).count { _ in entrance.enter(news) } == 10)
        #expect(entrance.enter(game) == false, "full")
        // What the flooder gives back goes to the others until they have their share.
        for _ in 0..<20 { entrance.leave(shop) }
        #expect((0..<1000).count { _ in entrance.enter(game) } == 20)
        #expect(entrance.enter(shop) == false)
    }

    @Test("who left is forgotten, and who never came takes nothing back")
    func balance() throws {
        var entrance = Self.entrance(8)
        let (shop, game) = (try application("shop"), try application("game"))
        entrance.leave(shop)
        #expect(entrance.underWay == 0)
        #expect(entrance.enter(shop) == true)
        entrance.leave(game)
        #expect(entrance.underWay == 1)
        entrance.leave(shop)
        #expect((0..<100).count { _ in entrance.enter(game) } == 8)
    }

    @Test("lateness has it let in less, and nothing but that")
    func lateness() throws {
        var entrance = Self.entrance(1000)
        let shop = try application("shop")
        for _ in 0..<400 { _ = entrance.enter(shop) }
        var now = ContinuousClock.now
        for _ in 0..<12 {
            entrance.observe(lateness: .milliseconds(200), at: now)
            now += .milliseconds(50)
        }
        #expect(entrance.limit.limit == 300)
        #expect(entrance.enter(shop) == false)
        #expect(entrance.underWay == 400, "nobody is thrown out")
    }
}

@Suite("The waiting room")
struct WaitingRoomTests {
    private static func room(_ places: ClosedRange<Int> = 1...8, most: Int = 100) -> WaitingRoom<String> {
        WaitingRoom(
            limit: AdaptiveLimit(places, target: .milliseconds(250), interval: .milliseconds(500)),
            fewestOfOne: 1,
            patience: .seconds(1),
            most: most
        )
    }

    private let start = ContinuousClock.now

    @Test("an application has three quarters of the places; another one finds the rest")
    func places() throws {
        var room = Self.room()
        let (shop, game) = (try application("shop"), try application("game"))
        #expect((0..<20).count { _ in room.enter(shop, at: start) } == 6)
        #expect((0..<20).count { _ in room.enter(game, at: start) } == 2)
        #expect(room.held == 8)
    }

    @Test("they are served in turns, one of each application, each in its order")
    func turns() throws {
        var room = Self.room(4...4)
        let (shop, game, news) = (try application("shop"), try application("game"), try application("news"))
        for _ in 0..<3 { #expect(room.enter(shop, at: start) == true) }
        #expect(room.enter(game, at: start) == true)
        for number in 1...5 { #expect(room.arrive("shop \(number)", of: shop, at: start) == .waiting) }
        for number in 1...2 { #expect(room.arrive("game \(number)", of: game, at: start) == .waiting) }
        #expect(room.arrive("news 1", of: news, at: start) == .waiting)
        var served: [String] = []
        // Whoever is served gives the place back at once.
        var holders = [shop, shop, shop, game]
        while let holder = holders.popLast() {
            for waiter in room.leave(holder, took: .zero, at: start) {
                served.append(waiter)
                holders.append(try application(String(waiter.prefix(4))))
            }
        }
        #expect(served.prefix(4).sorted() == ["game 1", "game 2", "news 1", "shop 1"])
        #expect(served.suffix(4) == ["shop 2", "shop 3", "shop 4", "shop 5"])
        #expect(room.held == 0 && room.waiting == 0)
    }

    @Test("nobody of the application overtakes who waits")
    func noOvertaking() throws {
        var room = Self.room(4...4)
        let shop = try application("shop")
        for _ in 0..<3 { #expect(room.enter(shop, at: start) == true) }
        #expect(room.arrive("first", of: shop, at: start) == .waiting)
        #expect(room.enter(shop, at: start) == false)
        #expect(room.leave(shop, took: .zero, at: start) == ["first"])
        #expect(room.enter(shop, at: start) == false, "its place is taken")
    }

    @Test("who has waited for too long is told so, and those behind keep their turn")
    func patience() throws {
        var room = Self.room(4...4)
        let (shop, game) = (try application("shop"), try application("game"))
        for _ in 0..<3 { #expect(room.enter(shop, at: start) == true) }
        #expect(room.enter(game, at: start) == true)
        #expect(room.arrive("early", of: shop, at: start) == .waiting)
        #expect(room.arrive("late", of: shop, at: start + .milliseconds(900)) == .waiting)
        #expect(room.arrive("other", of: game, at: start + .milliseconds(950)) == .waiting)
        #expect(room.expire(at: start + .milliseconds(999)) == [])
        #expect(room.expire(at: start + .milliseconds(1000)) == ["early"])
        #expect(room.waiting == 2)
        #expect(room.leave(game, took: .zero, at: start) == ["other"])
        #expect(room.leave(shop, took: .zero, at: start) == ["late"])
        #expect(room.expire(at: start + .seconds(60)) == [])
    }

    @Test("so many wait, and one more does not")
    func bounded() throws {
        var room = Self.room(1...1, most: 3)
        let shop = try application("shop")
        #expect(room.enter(shop, at: start) == true)
        for number in 0..<3 { #expect(room.arrive("\(number)", of: shop, at: start) == .waiting) }
        #expect(room.arrive("more", of: shop, at: start) == .refused)
        #expect(room.waiting == 3)
    }

    @Test("a limit that shrank is kept to as places are given back")
    func shrunk() throws {
        var room = Self.room(2...8)
        let shop = try application("shop")
        var now = start
        for _ in 0..<6 { #expect(room.enter(shop, at: now) == true) }
        for number in 0..<8 { _ = room.arrive("\(number)", of: shop, at: now) }
        var served = 0
        for _ in 0..<6 {
            now += .milliseconds(600)
            served += room.leave(shop, took: .seconds(1), at: now).count
        }
        #expect(room.limit.limit == 2)
        #expect(served < 6 && room.held == 6 - 6 + served)
    }

    /// As many writes as there may be, each of which takes as long, for some seconds; an application that is quick comes
    /// between them.
    private func slowBesideQuick(_ room: inout WaitingRoom<String>, quick: ApplicationID?) throws -> (Int, Instant) {
        let slow = try application("slow")
        var now = start
        var (held, last) = (0, 0)
        for _ in 0..<20 {
            while room.enter(slow, at: now) { held += 1 }
            last = held
            now += .milliseconds(500)
            if let quick {
                for _ in 0..<5 where room.enter(quick, at: now) {
                    _ = room.leave(quick, took: .milliseconds(2), at: now)
                }
            }
            now += .milliseconds(500)
            for _ in 0..<held { _ = room.leave(slow, took: .seconds(1), at: now) }
            held = 0
        }
        return (last, now)
    }

    @Test(
        "an application whose writes are slow keeps few places beside one whose writes are quick, which keeps its own"
    )
    func slowBesideOthers() throws {
        var room = Self.room(4...64)
        let game = try application("game")
        let (places, now) = try slowBesideQuick(&room, quick: game)
        #expect(places == 1)
        #expect((0..<100).count { _ in room.enter(game, at: now) } == 48)
    }

    @Test("alone it keeps what the database takes")
    func slowAlone() throws {
        var room = Self.room(4...64)
        let (places, _) = try slowBesideQuick(&room, quick: nil)
        #expect(places == 3, "three quarters of the fewest of all")
    }

    @Test("applications that have not been here for long are forgotten")
    func forgets() throws {
        var room = Self.room(4...64)
        let (slow, game) = (try application("slow"), try application("game"))
        _ = try slowBesideQuick(&room, quick: game)
        let later = start + .seconds(60)
        #expect(room.expire(at: later) == [])
        #expect((0..<100).count { _ in room.enter(slow, at: later) } > 1)
    }
}

@Suite("Admission")
struct AdmissionTests {
    @Test("many of several applications pass, never more at once than there are places, and all places are free again")
    func concurrent() async throws {
        let admission = Admission(.init(logins: 10_000, writes: 4...8, patience: .seconds(60), mostWaiting: 10_000))
        let names = try ["shop", "game", "news"].map { try application($0) }
        let most = await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<3000 {
                group.addTask {
                    try await admission.admit(names[number % 3]) { () throws(Failure) in
                        try await admission.write(of: names[number % 3]) { () throws(Failure) in
                            await Task.yield()
                            if number % 7 == 0 { throw Failure.sessionInvalid }
                            return admission.statistics.writes.underWay
                        }
                    }
                }
            }
            var most = 0
            while let result = await group.nextResult() {
                if case .success(let underWay) = result { most = max(most, underWay) }
            }
            return most
        }
        #expect((1...8).contains(most))
        let end = admission.statistics
        #expect(end.logins.underWay == 0 && end.writes.underWay == 0 && end.writes.waiting == 0)
        #expect(end.refused.logins == 0 && end.refused.writes == 0)
    }

    @Test("who waits for a place that nobody gives back is refused, and nothing is done for them")
    func refused() async throws {
        let admission = Admission(.init(writes: 1...1, patience: .milliseconds(50)))
        let shop = try application("shop")
        let running = Task { await admission.run() }
        defer { running.cancel() }
        let failure = try await admission.write(of: shop) { () throws(Failure) -> Failure? in
            do throws(Failure) {
                try await admission.write(of: shop) { () throws(Failure) -> Void in
                    Issue.record("it was done all the same")
                }
                return nil
            } catch { return error }
        }
        #expect(failure?.reason == .overloaded && failure?.retryAfter == 1)
        #expect(admission.statistics.refused.writes == 1)
        #expect(try await admission.write(of: shop) { () throws(Failure) in true }, "the place is free")
    }

    @Test("one more login than there may be is refused at once")
    func entrance() async throws {
        let admission = Admission(.init(logins: 1))
        let shop = try application("shop")
        let failure = try await admission.admit(shop) { () throws(Failure) -> Failure? in
            do throws(Failure) {
                try await admission.admit(shop, orRefuse: "Later.") { () throws(Failure) in }
                return nil
            } catch { return error }
        }
        #expect(failure?.reason == .overloaded && failure?.message == "Later.")
        #expect(admission.statistics.refused.logins == 1)
    }
}
