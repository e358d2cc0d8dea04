extension GraphSimulator {
    /// A field of people that Graph once had: from a version on it is answered with error 12.
    public struct RemovedField: Sendable, Equatable {
        /// Graph's name.
        public let name: String
        /// The first version without it.
        let since: GraphVersion

        /// Names a field and the first version without it, such as `v25.0`.
        /// - Throws: ``DataError`` for what is no version.
        public init(_ name: String, since version: String) throws(DataError) {
            guard let since = GraphVersion(pathComponent: version) else {
                throw DataError(path: "since", reason: "expected a version such as v25.0")
            }
            self.init(name, since: since)
        }

        init(_ name: String, since: GraphVersion) {
            self.name = name
            self.since = since
        }
    }
}

typealias RemovedField = GraphSimulator.RemovedField

extension RemovedField {
    /// What Graph says so of today.
    static let known = [RemovedField("username", since: GraphVersion(major: 2, minor: 0))]

    init(_ name: String, json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let version = try reader.requiredString("since")
        try reader.finish()
        do {
            try self.init(name, since: version)
        } catch {
            throw reader.failure("since", error.reason)
        }
    }

    var json: JSON { ["since": .string(since.description)] }
}
