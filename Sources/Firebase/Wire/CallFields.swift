import Domain
import Encodings
import HTTP
import Hummingbird

/// The members of a call's JSON body.
///
/// As in Google's services, a name may be in camel case or in snake case, a number counts as a text, and `null` as an
/// absent member (docs/protocols/firebase.md §1).
struct CallFields {
    let object: JSONObject
    /// Whether a name may be in snake case.
    private let mayBeSnake: Bool

    init(_ object: JSONObject) {
        self.object = object
        mayBeSnake = object.members.contains { $0.key.utf8.contains(UInt8(ascii: "_")) }
    }

    /// Reads the body of a request: a JSON object.
    static func read(_ request: Request, limits: JSONLimits = .request) async throws(Failure) -> CallFields {
        CallFields(try JSONObject(body: try await request.jsonBody(upTo: limits.bytes), limits: limits))
    }

    /// Returns whether a member is there and not `null`.
    func has(_ name: String) -> Bool { value(name) != nil }

    func value(_ name: String) -> JSONValue? {
        object.present(name) ?? (mayBeSnake ? object.present(Self.snake(name)) : nil)
    }

    /// Returns a text; nil if it is absent.
    ///
    /// - Throws: `INVALID_ARGUMENT` for another type.
    func text(_ name: String) throws(Failure) -> String? {
        guard let value = value(name) else { return nil }
        if let number = value.integer { return "\(number)" }
        guard let text = value.string else {
            throw Failure(.malformedRequest, "\(name) must be a text, it is \(value.kind).")
        }
        return text
    }

    /// Returns a text; nil if it is absent or empty.
    func filled(_ name: String) throws(Failure) -> String? {
        try text(name).flatMap { $0.utf8.isEmpty ? nil : $0 }
    }

    /// Returns a flag, which may be the text `true` or `false`.
    func flag(_ name: String) throws(Failure) -> Bool? {
        guard let value = value(name) else { return nil }
        switch (value.bool, value.string) {
        case (let flag?, _): return flag
        case (_, "true"): return true
        case (_, "false"): return false
        default: throw Failure(.malformedRequest, "\(name) must be true or false, it is \(value.kind).")
        }
    }

    /// Returns a list of texts; empty if it is absent.
    func texts(_ name: String) throws(Failure) -> [String] {
        guard let value = value(name) else { return [] }
        guard let items = value.array else {
            throw Failure(.malformedRequest, "\(name) must be a list of texts, it is \(value.kind).")
        }
        let texts = items.compactMap(\.string)
        guard texts.count == items.count else { throw Failure(.malformedRequest, "\(name) must be a list of texts.") }
        return texts
    }

    private static func snake(_ name: String) -> String {
        name.reduce(into: "") { text, letter in
            if letter.isUppercase { text += "_" + letter.lowercased() } else { text.append(letter) }
        }
    }
}

extension JSONLimits {
    /// The limits of a body with a pending login, which contains the user's encrypted profile from the provider.
    static let pendingLogin = {
        var limits = request
        limits.bytes = 524_288
        return limits
    }()
}
