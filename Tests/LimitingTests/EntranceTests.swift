@testable import Limiting
import Testing

@Suite("The entrance")
struct EntranceTests {
    private static func entrance(_ places: Int) -> Entrance {
        let limit = AdaptiveLimit(1...places, rest: places, target: .milliseconds(100), interval: .milliseconds(500))
        return Entrance(limit: limit, own: limit)
    }

    /// Repeats an observation for longer than a limit takes to change.
    private static func note(_ count: Int = 12, from now: inout Entrance.Instant, _ body: (Entrance.Instant) -> Void) {
        for _ in 0..<count {
            body(now)
            now += .milliseconds(50)
        }
    }

    @Test("one application alone leaves the last eighth of all places to whoever comes")
    func alone() throws {
        var entrance = Self.entrance(80)
        let (shop, game) = (try application("shop"), try application("game"))
        #expect((0..<100).count { _ in entrance.enter(shop, from: nil) } == 70)
        #expect((0..<100).count { _ in entrance.enter(game, from: nil) } == 10)
        entrance.leave(shop, from: nil)
        #expect(entrance.enter(shop, from: nil) == false, "the others come first")
        #expect(entrance.enter(game, from: nil) == true)
        #expect(entrance.enter(game, from: nil) == false, "full")
    }

    @Test("one source leaves the last eighth of its application's places to the others of the application")
    func sources() throws {
        var entrance = Self.entrance(80)
        let (shop, game) = (try application("shop"), try application("game"))
        // Of 80 places the application may have 70, and one source at most 62 of these.
        #expect((0..<100).count { _ in entrance.enter(shop, from: "flood") } == 62)
        #expect((0..<100).count { _ in entrance.enter(shop, from: "home") } == 8)
        #expect(entrance.enter(shop, from: nil) == false)
        for _ in 0..<8 { entrance.leave(shop, from: "flood") }
        #expect(entrance.enter(shop, from: "flood") == false, "whoever has less comes first")
        #expect((0..<100).count { _ in entrance.enter(shop, from: "office") } == 8)
        #expect((0..<100).count { _ in entrance.enter(game, from: "flood") } == 10, "of another application")
        for _ in 0..<54 { entrance.leave(shop, from: "flood") }
        for source in ["home", "office"] { for _ in 0..<8 { entrance.leave(shop, from: source) } }
        for _ in 0..<10 { entrance.leave(game, from: "flood") }
        #expect(entrance.underWay == 0)
        #expect((0..<100).count { _ in entrance.enter(shop, from: "home") } == 62, "all places are free again")
    }

    @Test("a source that is refused lets what was shrunk grow again")
    func growing() throws {
        let all = AdaptiveLimit(1...800, rest: 800, target: .milliseconds(100), interval: .milliseconds(500))
        let own = AdaptiveLimit(1...80, rest: 80, target: .milliseconds(100), interval: .milliseconds(500))
        var entrance = Entrance(limit: all, own: own)
        let shop = try application("shop")
        for _ in 0..<70 { #expect(entrance.enter(shop, from: "server") == true) }
        var now = ContinuousClock.now
        Self.note(from: &now) { entrance.observe(wait: .seconds(1), of: shop, at: $0) }
        for _ in 0..<69 { entrance.leave(shop, from: "server") }
        func max() -> Int {
            let entered = (0..<100).count { _ in entrance.enter(shop, from: "server") }
            for _ in 0..<entered { entrance.leave(shop, from: "server") }
            return entered
        }
        let shrunk = max()
        #expect((30...60).contains(shrunk))
        Self.note(from: &now) {
            _ = max()
            entrance.observe(wait: .zero, of: shop, at: $0)
        }
        #expect(max() > shrunk)
    }

    @Test("whoever floods it leaves places for those who have less than their share")
    func fair() throws {
        var entrance = Self.entrance(80)
        let (shop, game, news) = (try application("shop"), try application("game"), try application("news"))
        #expect(entrance.enter(game, from: nil) == true)
        #expect((0..<1000).count { _ in entrance.enter(shop, from: nil) } == 69, "all but the last eighth")
        #expect((0..<1000).count { _ in entrance.enter(news, from: nil) } == 10)
        #expect(entrance.enter(game, from: nil) == false, "full")
        // The places that the flooding application gives back go to the others until these have their share.
        for _ in 0..<20 { entrance.leave(shop, from: nil) }
        #expect((0..<1000).count { _ in entrance.enter(game, from: nil) } == 20)
        #expect(entrance.enter(shop, from: nil) == false)
    }

    @Test("who left is forgotten, and who never came takes nothing back")
    func balance() throws {
        var entrance = Self.entrance(8)
        let (shop, game) = (try application("shop"), try application("game"))
        entrance.leave(shop, from: nil)
        #expect(entrance.underWay == 0)
        #expect(entrance.enter(shop, from: nil) == true)
        entrance.leave(game, from: nil)
        #expect(entrance.underWay == 1)
        entrance.leave(shop, from: nil)
        #expect((0..<100).count { _ in entrance.enter(game, from: nil) } == 7)
    }

    @Test("lateness has it let in less, and nothing but that")
    func lateness() throws {
        var entrance = Self.entrance(1000)
        let shop = try application("shop")
        for _ in 0..<400 { _ = entrance.enter(shop, from: nil) }
        var now = ContinuousClock.now
        Self.note(from: &now) { entrance.observe(lateness: .milliseconds(200), at: $0) }
        #expect(entrance.limit.limit == 300)
        #expect(entrance.enter(shop, from: nil) == false)
        #expect(entrance.underWay == 400, "nobody is thrown out")
    }

    @Test("of an application whose writes wait less is let in, until they do not; of another one as much as before")
    func waiting() throws {
        var entrance = Self.entrance(1000)
        let (shop, game) = (try application("shop"), try application("game"))
        for _ in 0..<400 { #expect(entrance.enter(shop, from: nil) == true) }
        #expect(entrance.enter(game, from: nil) == true)
        var now = ContinuousClock.now
        Self.note(from: &now) {
            entrance.observe(wait: .milliseconds(200), of: shop, at: $0)
            entrance.observe(wait: .zero, of: game, at: $0)
        }
        for _ in 0..<101 { entrance.leave(shop, from: nil) }
        #expect((0..<1000).count { _ in entrance.enter(shop, from: nil) } == 1, "300 of the 400")
        #expect((0..<100).count { _ in entrance.enter(game, from: nil) } == 100)
        #expect(entrance.limit.limit == 1000)

        Self.note(from: &now) { entrance.observe(wait: .milliseconds(20), of: shop, at: $0) }
        let entered = (0..<1000).count { _ in entrance.enter(shop, from: nil) }
        #expect(entered == 37, "an eighth more, since all were wanted")
    }

    @Test("a line that nobody joins any more shrinks it to less than those who stand in it, not to the least at once")
    func lull() throws {
        var entrance = Self.entrance(1000)
        let shop = try application("shop")
        for _ in 0..<400 { _ = entrance.enter(shop, from: nil) }
        var now = ContinuousClock.now
        Self.note(23, from: &now) { entrance.observe(wait: .seconds(1), of: shop, at: $0) }
        for _ in 0..<200 { entrance.leave(shop, from: nil) }
        #expect((0..<1000).count { _ in entrance.enter(shop, from: nil) } == 25, "three quarters of 400, twice")
    }

    @Test("what was learnt of an application is forgotten with the last of it")
    func forgotten() throws {
        var entrance = Self.entrance(100)
        let shop = try application("shop")
        for _ in 0..<40 { _ = entrance.enter(shop, from: nil) }
        var now = ContinuousClock.now
        Self.note(from: &now) { entrance.observe(wait: .seconds(1), of: shop, at: $0) }
        #expect(entrance.enter(shop, from: nil) == false)
        for _ in 0..<40 { entrance.leave(shop, from: nil) }
        entrance.observe(wait: .seconds(1), of: shop, at: now)
        #expect((0..<200).count { _ in entrance.enter(shop, from: nil) } == 88)
    }

    @Test("a wait in a line that does not stand shrinks nothing, and where nothing is written what shrank grows again")
    func noLine() throws {
        var entrance = Self.entrance(100)
        let (shop, game) = (try application("shop"), try application("game"))
        #expect(entrance.enter(shop, from: nil) == true)
        for _ in 0..<50 { _ = entrance.enter(game, from: nil) }
        var now = ContinuousClock.now
        Self.note(from: &now) {
            entrance.observe(wait: .seconds(1), of: shop, at: $0)
            entrance.observe(wait: .seconds(1), of: game, at: $0)
            entrance.observe(nobodyWaitingBut: [game], at: $0)
        }
        #expect((0..<20).count { _ in entrance.enter(shop, from: nil) } == 20)
        #expect(entrance.enter(game, from: nil) == false)
        Self.note(400, from: &now) { entrance.observe(nobodyWaitingBut: [], at: $0) }
        #expect(entrance.enter(game, from: nil) == true)
    }
}
