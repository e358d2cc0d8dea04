/// Reads the members of one object by name and type, remembers which were asked for, and refuses the rest, so that a
/// misspelt name in a data file or a control request is an error and never silence.
struct JSONReader {
    let path: String
    private let members: [JSON.Member]
    private var known: [String] = []

    init(_ value: JSON, path: String) throws(DataError) {
        guard let members = value.members else { throw DataError(path: path, reason: "expected an object") }
        self.path = path
        self.members = members
    }

    mutating func value(_ name: String) -> JSON? {
        known.append(name)
        let value = members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
        return value == .null ? nil : value
    }

    mutating func string(_ name: String) throws(DataError) -> String? {
        try read(name, "a string") { $0.string }
    }

    mutating func requiredString(_ name: String) throws(DataError) -> String {
        guard let text = try string(name), !text.isEmpty else {
            throw DataError(path: path, reason: "\"\(name)\" is missing or empty")
        }
        return text
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int> = 0...Int(Int32.max)) throws(DataError) -> Int? {
        guard let number = try read(name, "an integer", { $0.integer }) else { return nil }
        guard range.contains(number) else {
            throw failure(name, "expected an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func number(_ name: String) throws(DataError) -> Double? {
        try read(name, "a number") {
            switch $0 {
            case .integer(let number): Double(number)
            case .double(let number): number
            default: nil
            }
        }
    }

    mutating func bool(_ name: String) throws(DataError) -> Bool? {
        try read(name, "true or false") { $0.bool }
    }

    mutating func strings(_ name: String) throws(DataError) -> [String]? {
        try read(name, "a list of strings") { value in
            guard let elements = value.array else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
    }

    mutating func list(_ name: String) throws(DataError) -> [JSON] {
        try read(name, "a list") { $0.array } ?? []
    }

    mutating func object(_ name: String) throws(DataError) -> [JSON.Member]? {
        try read(name, "an object") { $0.members }
    }

    /// The members nobody asked for.
    var rest: [JSON.Member] {
        members.filter { member in !known.contains { $0.utf8.elementsEqual(member.name.utf8) } }
    }

    /// Refuses the members that nobody asked for.
    func finish() throws(DataError) {
        guard let stranger = rest.first else { return }
        throw failure(stranger.name, "unknown member; known are \(known.sorted().joined(separator: ", "))")
    }

    func failure(_ name: String, _ reason: String) -> DataError {
        DataError(path: place(of: name), reason: reason)
    }

    /// The way to a member, such as `people[2].email`.
    func place(of name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }

    mutating func read<Value>(
        _ name: String,
        _ expected: String,
        _ convert: (JSON) -> Value?
    ) throws(DataError) -> Value? {
        guard let value = value(name) else { return nil }
        guard let converted = convert(value) else { throw failure(name, "expected \(expected)") }
        return converted
    }
}

extension GraphSimulator {
    /// Data that cannot be used: which entry, and why.
    public struct DataError: Error, Sendable, CustomStringConvertible {
        /// Where it is: `people[2].email`, or a line and column of the text.
        public let path: String
        /// What is wrong with it, in a few words.
        public let reason: String

        /// `people[2].email: expected a string`.
        public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }

        init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }
}

typealias DataError = GraphSimulator.DataError
