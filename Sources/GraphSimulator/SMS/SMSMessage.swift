extension GraphSimulator {
    /// A message that the SMS gateway has taken.
    public struct SMSMessage: Sendable, Equatable {
        /// Its name, which no other message has.
        public var id: String
        /// Which application sends it.
        public var application: String
        /// The number, `+` and digits.
        public var to: String
        /// What the telephone shows.
        public var text: String
        /// The code in it, if it has one.
        public var code: String?
        /// The link in it, if it has one.
        public var link: String?
        /// Two letters, if the sender has said.
        public var language: String?
        /// When it came, Unix seconds of the simulated time.
        public var time: Int
    }

    /// What the SMS gateway has taken, oldest first; of more than a thousand the latest.
    public var messages: [SMSMessage] {
        simulation.update { state, _ in state.world.gateway.inbox }
    }

    /// Empties the inbox.
    public func removeMessages() {
        simulation.update { state, _ in state.world.gateway.inbox = [] }
    }
}

typealias SMSMessage = GraphSimulator.SMSMessage

extension SMSMessage {
    /// Reads the body of a request, strictly.
    init(json: JSON, time: Int) throws(DataError) {
        var reader = try JSONReader(json, path: "")
        self.init(
            id: try reader.requiredString("id"),
            application: try reader.requiredString("application"),
            to: try reader.requiredString("to"),
            text: try reader.requiredString("text"),
            code: try reader.string("code"),
            link: try reader.string("link"),
            language: try reader.string("language"),
            time: time
        )
        try reader.finish()
        guard (code == nil) != (link == nil) else { throw reader.failure("code", "expected a code or a link") }
        let digits = to.utf8.dropFirst()
        guard to.utf8.first == UInt8(ascii: "+"), (7...15).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            digits.first != UInt8(ascii: "0")
        else { throw reader.failure("to", "expected + and 7 to 15 digits") }
    }

    var json: JSON {
        [
            "id": .string(id), "application": .string(application), "to": .string(to), "text": .string(text),
            "code": code.map { .string($0) } ?? nil, "link": link.map { .string($0) } ?? nil,
            "language": language.map { .string($0) } ?? nil, "time": .integer(time),
        ]
    }
}
