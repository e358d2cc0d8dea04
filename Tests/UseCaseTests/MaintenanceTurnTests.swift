import Testing

@testable import Maintenance

@Suite("Turns of the work in the background")
struct MaintenanceTurnTests {
    @Test(
        "a small table of sessions is looked through at once, a large one in sixty turns, a larger one still in more",
        arguments: [(0, 0), (1, 1), (64, 64), (65, 64), (3840, 64), (6000, 100), (30_720, 512), (1_000_000, 512)]
    )
    func parts(_ parts: Int, _ expected: Int) {
        #expect(Maintenance.partsOfTurn(parts) == expected)
    }
}
