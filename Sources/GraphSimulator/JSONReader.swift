import Encodings

/// Reads the members of a JSON object by name and type.
///
/// After all reads, ``finish()`` throws an error if the object has members that were not read. So a misspelled name in
/// a data file or in a control request is an error.
struct JSONReader {
    let path: String
    private let object: JSONObject
    private var known: [String] = []

    init(_ json: JSON, path: String = "") throws(DataError) {
        guard let object = json.value.object else { throw DataError(path: path, reason: "expected an object") }
        self.path = path
        self.object = object
    }

    mutating func value(_ name: String) -> JSON? {
        known.append(name)
        return object.present(name).map { JSON($0) }
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

    /// Reads the key that identifies an item, such as a user.
    ///
    /// The key is the member `name` of the object or, if this member is absent, the parameter `address`. `address` is
    /// the key in the path of a control request.
    ///
    /// - Throws: ``DataError`` if the key is missing or longer than 128 bytes, or if the member and `address` differ.
    mutating func key(_ name: String, address: String?) throws(DataError) -> String {
        guard let key = try string(name) ?? address, (1...128).contains(key.utf8.count) else {
            throw failure(name, "expected a name of 1 to 128 bytes")
        }
        if let address, !address.hasSameBytes(as: key) { throw failure(name, "differs from the address") }
        return key
    }

    /// Reads a string member, and returns the case of an enumeration that has this string as its raw value.
    ///
    /// Returns `nil` if the member is absent.
    mutating func word<Word>(
        _ name: String,
        of type: Word.Type = Word.self
    ) throws(DataError) -> Word? where Word: CaseIterable & RawRepresentable<String> {
        guard let text = try string(name) else { return nil }
        guard let word = Word.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
            throw failure(name, "expected one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int> = 0...Int(Int32.max)) throws(DataError) -> Int? {
        guard let number = try read(name, "an integer", { $0.integer }) else { return nil }
        guard range.contains(number) else {
            throw failure(name, "expected an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func required(_ name: String) throws(DataError) -> Int {
        guard let number = try integer(name) else { throw failure(name, "is missing") }
        return number
    }

    mutating func number(_ name: String) throws(DataError) -> Double? {
        try read(name, "a number") {
            guard case .number(let number) = $0.value else { return nil }
            return number.double
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

    mutating func list<Element>(
        _ name: String,
        _ element: (JSON, _ path: String) throws(DataError) -> Element
    ) throws(DataError) -> [Element] {
        var list: [Element] = []
        for (index, json) in (try read(name, "a list") { $0.array } ?? []).enumerated() {
            list.append(try element(json, "\(place(of: name))[\(index)]"))
        }
        return list
    }

    mutating func items<Item: Keyed>(_ name: String) throws(DataError) -> [Item] {
        try list(name) { json, path throws(DataError) in try Item(json: json, path: path, key: nil) }
    }

    mutating func members(_ name: String) throws(DataError) -> [JSON.Member]? {
        try read(name, "an object") { $0.members }
    }

    /// Reads a member with a closure that parses the member's value; `nil` if the member is absent.
    mutating func object<Value>(
        _ name: String,
        _ read: (JSON, _ path: String) throws(DataError) -> Value
    ) throws(DataError) -> Value? {
        guard let value = value(name) else { return nil }
        return try read(value, place(of: name))
    }

    /// The members of the object that have not been read yet.
    var rest: [JSON.Member] {
        object.members.filter { member in !known.contains { $0.hasSameBytes(as: member.key) } }
            .map { ($0.key, JSON($0.value)) }
    }

    /// Throws an error if the object has a member that was not read.
    func finish() throws(DataError) {
        guard let stranger = rest.first else { return }
        throw failure(stranger.name, "unknown member; known are \(known.sorted().joined(separator: ", "))")
    }

    func failure(_ name: String, _ reason: String) -> DataError {
        DataError(path: place(of: name), reason: reason)
    }

    /// Returns the path to a member, such as `people[2].email`.
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
    /// An error about unusable JSON data: the path to the wrong value, and the reason.
    public struct DataError: Error, Sendable, CustomStringConvertible {
        /// The path to the wrong value in the JSON data, such as `people[2].email`.
        public let path: String
        /// The reason in a few words.
        public let reason: String

        /// The path and the reason, such as `people[2].email: expected a string`.
        public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
    }
}

typealias DataError = GraphSimulator.DataError
