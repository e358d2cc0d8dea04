import Logging
import Testing

@testable import Observability

@Suite("A line of the log")
struct LineTests {
    @Test("of a text it has 1,024 bytes at most, be it the message or a member; an ellipsis stands for the rest")
    func bounds() {
        let longest = String(repeating: "a", count: 1024)
        for (text, shown) in [(longest, longest), (longest + "b", longest + "…")] {
            let bytes = JSONLogHandler.line(level: .info, message: text, members: [("member", text)])
            let line = String(decoding: bytes, as: UTF8.self)
            #expect(line.contains(#""message":"\#(shown)""#) && line.contains(#""member":"\#(shown)""#))
        }
    }
}
