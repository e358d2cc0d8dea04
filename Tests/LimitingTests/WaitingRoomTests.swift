import Domain
@testable import Limiting
import Testing

@Suite("The waiting room")
struct WaitingRoomTests {
    private static func room(
        _ places: ClosedRange<Int> = 1...8,
        rest: Int? = nil,
        max: Int = 100
    ) -> WaitingRoom<String> {
        WaitingRoom(
            limit: AdaptiveLimit(
                places,
                rest: rest ?? places.upperBound,
                target: .milliseconds(250),
                interval: .milliseconds(500)
            ),
            minOfOne: 1,
            timeout: .seconds(1),
            max: max
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

    @Test("an application that comes for the first time has few places at first, as all have together")
    func rest() throws {
        var room = Self.room(4...64, rest: 8)
        let (shop, game) = (try application("shop"), try application("game"))
        #expect((0..<20).count { _ in room.enter(shop, at: start) } == 6)
        #expect((0..<20).count { _ in room.enter(game, at: start) } == 2)
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
        // Every served waiter gives its place back at once.
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

    @Test("nor when there is more room at once, since the others have not been here for long")
    func noOvertakingIntoNewRoom() throws {
        var room = Self.room(4...64)
        let (slow, game) = (try application("slow"), try application("game"))
        let (places, now) = try slowBesideQuick(&room, quick: game)
        #expect((0..<places).count { _ in room.enter(slow, at: now) } == places)
        let later = now + .milliseconds(9900)
        #expect(room.arrive("first", of: slow, at: later) == .waiting)
        #expect(room.expire(at: later + .milliseconds(200)) == [], "the game is forgotten, and all are patient")
        #expect(room.enter(slow, at: later + .milliseconds(200)) == false)
        #expect(room.leave(slow, took: .zero, at: later + .milliseconds(300)) == ["first"])
    }

    @Test("who has waited for too long is told so, and those behind keep their turn")
    func timeout() throws {
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
        var room = Self.room(1...1, max: 3)
        let shop = try application("shop")
        #expect(room.enter(shop, at: start) == true)
        for number in 0..<3 { #expect(room.arrive("\(number)", of: shop, at: start) == .waiting) }
        #expect(room.arrive("more", of: shop, at: start) == .refused)
        #expect(room.waiting == 3)
    }

    @Test("the sources of an application take turns, each in its order")
    func sources() throws {
        var room = Self.room(1...1)
        let shop = try application("shop")
        #expect(room.enter(shop, at: start) == true)
        let arrivals = [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", nil), ("b2", "b")]
        for (waiter, source) in arrivals {
            #expect(room.arrive(waiter, of: shop, from: source, at: start) == .waiting)
        }
        let served = (0..<6).flatMap { _ in room.leave(shop, took: .zero, at: start) }
        #expect(served == ["a1", "b1", "c1", "a2", "b2", "a3"])
        #expect(room.leave(shop, took: .zero, at: start) == [] && room.held == 0 && room.waiting == 0)
    }

    @Test("where the room is full, the last one of whoever has most gives way to whoever has least")
    func fullRoom() throws {
        var room = Self.room(1...1, max: 5)
        let (shop, game) = (try application("shop"), try application("game"))
        #expect(room.enter(shop, at: start) == true)
        for number in 1...5 { #expect(room.arrive("a\(number)", of: shop, from: "a", at: start) == .waiting) }
        #expect(room.arrive("a6", of: shop, from: "a", at: start) == .refused)
        #expect(room.arrive("b1", of: shop, from: "b", at: start) == .waitingInstead(of: "a5"))
        #expect(room.arrive("g1", of: game, from: "a", at: start) == .waitingInstead(of: "a4"))
        #expect(room.arrive("g2", of: game, from: "a", at: start) == .waitingInstead(of: "a3"))
        #expect(room.arrive("g3", of: game, from: "a", at: start) == .refused, "they have the same by now")
        #expect(room.arrive("c1", of: shop, from: "c", at: start) == .waitingInstead(of: "a2"))
        #expect(room.arrive("d1", of: shop, from: "d", at: start) == .refused, "no source has two")
        #expect(room.waiting == 5)
        var (served, holder): ([String], ApplicationID) = ([], shop)
        while let next = room.leave(holder, took: .zero, at: start).first {
            served.append(next)
            holder = next.hasPrefix("g") ? game : shop
        }
        #expect(served == ["a1", "g1", "b1", "g2", "c1"])
        #expect(room.held == 0 && room.waiting == 0)
    }

    @Test("who says how long to wait waits so long, whoever stands in front")
    func ownTimeout() throws {
        var room = Self.room(1...1)
        let shop = try application("shop")
        #expect(room.enter(shop, at: start) == true)
        #expect(room.arrive("long", of: shop, until: start + .seconds(9), at: start) == .waiting)
        #expect(room.arrive("short", of: shop, until: start + .seconds(1), at: start) == .waiting)
        #expect(room.expire(at: start + .seconds(2)) == ["short"])
        #expect(room.leave(shop, took: .zero, at: start + .seconds(3)) == ["long"])
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

    /// Fills the room with writes of one second each for 20 seconds, with writes of the application `quick` in between.
    ///
    /// - Returns: The places that the slow application held at the end, and the time of the end.
    private func slowBesideQuick(_ room: inout WaitingRoom<String>, quick: ApplicationID?) throws -> (
        Int, ContinuousClock.Instant
    ) {
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
