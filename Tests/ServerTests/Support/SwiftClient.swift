import Encodings
@testable import ServerTestSupport
import TestSupport

/// The interpretation of responses by the Swift SDK of Backendless (docs/protocols/backendless.md §2.3).
enum SwiftClient {
    struct Fault: Error, Equatable {
        let code: Int64?
        let message: String?
    }

    /// Interprets the response of a call that expects a user.
    ///
    /// - Returns: The user; `nil` where the SDK calls neither of the app's handlers.
    static func user(_ reply: HTTPReply) throws(Fault) -> JSONObject? {
        guard !reply.body.isEmpty else { return nil }
        guard let object = try process(reply)?.object else { throw Fault(code: nil, message: reply.text) }
        for key in ["email", "name", "objectId", "user-token"] {
            guard let value = object[key], !value.isNull, value.string == nil else { continue }
            throw Fault(code: nil, message: "\(key) is no string")
        }
        return object
    }

    /// Interprets the response of a call that expects nothing: any text but `null` is a fault.
    static func nothing(_ reply: HTTPReply) throws(Fault) {
        _ = try process(reply)
        guard reply.body.isEmpty || reply.text == "null" else { throw Fault(code: nil, message: reply.text) }
    }

    /// Interprets the response of a call that expects a list, or a fragment.
    static func value(_ reply: HTTPReply) throws(Fault) -> JSONValue? { try process(reply) }

    private static func process(_ reply: HTTPReply) throws(Fault) -> JSONValue? {
        let value = JSON.value(reply.text)
        if let object = value?.object, let code = object["code"]?.integer, let message = object["message"]?.string {
            throw Fault(code: code, message: message)
        }
        guard (200...400).contains(reply.status) else {
            throw Fault(code: Int64(reply.status), message: "Backendless server error")
        }
        return value
    }
}
