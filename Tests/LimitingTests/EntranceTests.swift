import Testing
import Vocabulary

@testable import Limiting

@Suite("The entrance")
struct EntranceTests {
    private static func entrance(_ places: Int) -> Entrance {
        Entrance(
            limit: AdaptiveLimit(1...places, rest: places, target: .milliseconds(100), interval: .milliseconds(500))
        )
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
