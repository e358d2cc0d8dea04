package import Domain
import Encodings
package import Store

/// The criteria of a search for users, as received.
package struct UserSearch: Sendable {
    package var objectID: String?
    package var subject: String?
    /// The id for clients of Firebase.
    package var firebaseUID: String?
    package var email: String?
    package var name: String?
    package var status: String?
    package var provider: String?
    /// The name of a declared property, and the value as text.
    package var property: (name: String, value: String)?

    package init() {}

    /// The names of the criteria in the request, without values.
    var filters: [String] {
        let given: [(String, Bool)] = [
            ("objectId", objectID != nil), ("subject", subject != nil), ("firebaseUid", firebaseUID != nil),
            ("email", email != nil), ("name", name != nil), ("status", status != nil), ("provider", provider != nil),
        ]
        return given.filter(\.1).map(\.0) + (property.map { ["property \($0.name)"] } ?? [])
    }
}

extension UserSearch {
    /// The maximum length of a criterion in bytes.
    private static let longestText = 1000

    /// Checks the criteria, and returns them as a filter for the database query.
    ///
    /// - Throws: `malformed_request` for the first invalid criterion. The users table has not been read then.
    package func parsed(properties: [Property]) throws(Failure) -> UserListing {
        var search = UserListing()
        if let objectID {
            search.objectID = try Self.value(ObjectID(objectID), "objectId must be a UUID with dashes.")
        }
        if let subject {
            search.subject = try Self.value(
                Subject(subject)?.text,
                "subject must be 1 to 255 printable ASCII characters without a space."
            )
        }
        if let firebaseUID {
            _ = try Self.value(
                FirebaseUID(firebaseUID),
                "firebaseUid must be 1 to 128 bytes of text without control characters."
            )
        }
        if let email { search.email = try Self.text(email, of: "email") }
        if let name { search.name = try Self.text(name, of: "name") }
        if let status {
            let rule = "status must be one of \(UserStatus.allCases.map(\.rawValue).joined(separator: ", "))."
            search.status = try Self.value(UserStatus(rawValue: status), rule)
        }
        if let provider {
            let rule = "provider must be the name of a provider, such as facebook, or password or passkey."
            search.provider = try Self.value(ProviderName(provider), rule)
        }
        if let property {
            let declared = properties.first { $0.name.text.hasSameBytes(as: property.name) }
            guard let declared else {
                throw Failure(
                    .malformedRequest,
                    "The application has no property with this name. Search by a declared property."
                )
            }
            search.property = (declared.name, try Self.value(property.value, of: declared))
        }
        return search
    }

    private static func value(_ text: String, of property: Property) throws(Failure) -> PropertyValue {
        let name = property.name
        return switch property.type {
        case .string, .text: .text(try self.text(text, of: name.text))
        case .int: .integer(try value(Int64(text), "The value of \(name) must be a 64-bit integer."))
        case .double: .double(try value(double(text), "The value of \(name) must be a number like 1.5."))
        case .boolean: .boolean(try value(boolean(text), "The value of \(name) must be true or false."))
        case .date: .date(try value(Moment.readDay(text), "The value of \(name) must be a date like 2026-11-21."))
        case .dateTime:
            .dateTime(
                try value(
                    Moment.read(text),
                    "The value of \(name) must be milliseconds since 1970 or a time like 2026-11-21T10:27:08Z."
                )
            )
        case .json: throw Failure(.malformedRequest, "Users cannot be searched by \(name), because its type is JSON.")
        }
    }

    private static func double(_ text: String) -> Double? {
        guard text.utf8.count <= 64, let number = Double(text), number.isFinite else { return nil }
        return number
    }

    private static func boolean(_ text: String) -> Bool? {
        text.hasSameBytes(as: "true") ? true : text.hasSameBytes(as: "false") ? false : nil
    }

    private static func text(_ text: String, of name: String) throws(Failure) -> String {
        guard (1...longestText).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw Failure(.malformedRequest, "\(name) must be 1 to \(longestText) bytes of text without a NUL.")
        }
        return text
    }

    private static func value<Value>(_ value: Value?, _ rule: String) throws(Failure) -> Value {
        guard let value else { throw Failure(.malformedRequest, rule) }
        return value
    }
}
