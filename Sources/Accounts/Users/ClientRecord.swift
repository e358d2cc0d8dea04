import Applications
package import Domain
import Encodings
import Mapping
import Store

/// The members of a user's record, as a client, a server or an operator sent it: values of properties, and other
/// members.
///
/// Which properties are written depends on the sender. A server or an operator writes all properties. A user writes
/// only properties that clients may write and, in another user's record, only if these properties are also visible to
/// others.
///
/// Clients send back whole user objects that they received from this service (docs/protocols/backendless.md §2.1). So
/// two kinds of members are ignored without an error: system members in any spelling, and properties that clients may
/// not write. For undeclared names, a setting of the application decides whether they are refused, stored or dropped
/// (decision D19).
struct ClientRecord {
    private let writer: Viewer
    private(set) var given = GivenProperties()
    /// The names of the values that are ignored, in the order of the record.
    ///
    /// The list omits a value that is the same as the user's present value, unless the sender of the record may not see
    /// the property.
    private(set) var ignored: [String] = []
    /// Names of undeclared properties that are new to the application.
    private(set) var newDynamicNames: [PropertyName] = []
    /// The new password; nil if it is absent or empty.
    private(set) var password: Secret?
    /// The present password, by which the user authenticates again; nil if it is absent or empty.
    private(set) var currentPassword: Secret?
    /// The user id that the client sent.
    private(set) var objectID: JSONValue?

    /// Checks and converts the members of a record.
    ///
    /// - Parameters:
    ///   - record: The record from the client.
    ///   - user: The user to change; nil at a registration.
    ///   - loaded: The application.
    ///   - writer: The sender of the record.
    /// - Throws: `value_not_convertible` with the first invalid property; `property_undeclared`, or
    ///   `property_undeclared_in_update`, with all undeclared names; `malformed_request` for a password that is not a
    ///   text.
    init(
        _ record: UserRecord,
        for user: User? = nil,
        of loaded: LoadedApplication,
        by writer: Viewer = .owner
    ) throws(Failure) {
        self.writer = writer
        password = try Self.password(record.password, "password")
        currentPassword = try Self.password(record.currentPassword, "currentPassword")
        objectID = record.objectID
        // Another user must not choose the language of a user's mails.
        if let locale = record.locale, writer != .other { takeLocale(locale) }
        var undeclared: [String] = []
        for member in record.properties.members {
            guard !member.value.isUpdate else { throw .update(of: member.key) }
            if let property = loaded.application.properties.first(where: { $0.name.text.hasSameBytes(as: member.key) })
            {
                try take(member, as: property, for: user, of: loaded)
            } else if !Self.isSystem(member.key), !take(undeclared: member, for: user, of: loaded) {
                undeclared.append(member.key)
            }
        }
        guard undeclared.isEmpty else { throw .undeclared(undeclared, isUpdate: user != nil) }
    }

    private mutating func take(
        _ member: JSONObject.Member,
        as property: Property,
        for user: User?,
        of loaded: LoadedApplication
    ) throws(Failure) {
        func value() throws(Failure) -> PropertyValue? {
            let times = loaded.application.settings.offsetlessTimes
            return try ClientValue.convert(member.value, to: property, offsetlessTimes: times)
        }
        if property.canBeWritten(by: writer, in: loaded.application) {
            // An empty address or login removes the value.
            let isNone = property.isLogin(in: loaded.application) && member.value.string?.isEmpty == true
            given.values.append((property, isNone ? nil : try value()))
        } else if !property.visibleTo.includes(writer) {
            // Otherwise, the response would show whether a guessed value of an invisible property is right.
            ignored.append(member.key)
        } else {
            let stored = user?.properties.first { $0.name == property.name }?.value
            do throws(Failure) {
                if try value() != stored { ignored.append(member.key) }
            } catch {
                ignored.append(member.key)
            }
        }
    }

    /// Reads a member whose name is not declared as a property.
    ///
    /// - Returns: False if the record must be refused because of this member.
    private mutating func take(undeclared member: JSONObject.Member, for user: User?, of loaded: LoadedApplication)
        -> Bool
    {
        let settings = loaded.application.settings
        let name = PropertyName(member.key)
        let stored = writer == .other ? nil : user?.dynamic[member.key]
        // If a login has just registered the name, the cached configuration does not have the name yet.
        let isKnown = stored != nil || name.map(loaded.dynamicNames.contains) ?? false
        if settings.undeclared == .store, writer != .other, let name, isKnown || !name.isReserved {
            guard isKnown || !member.value.isNull else { return true }
            if !isKnown { newDynamicNames.append(name) }
            given.dynamic.append(name.text, member.value)
        } else if isKnown {
            // Responses contain the name, except responses to other users.
            if writer == .other || member.value != stored ?? .null { ignored.append(member.key) }
        } else if !member.value.isNull {
            guard settings.undeclared == .drop else { return false }
            ignored.append(member.key)
        }
        return true
    }

    /// Reads the two letters of a language from a client's locale, such as `en-US` or `pt_BR`.
    ///
    /// A locale without such letters is ignored.
    private mutating func takeLocale(_ value: JSONValue) {
        if value.isNull { given.locale = GivenProperties.Given<String>.none }
        if let letters = value.string.flatMap(LanguageTag.letters) { given.locale = .value(letters) }
    }

    private static func password(_ value: JSONValue?, _ name: String) throws(Failure) -> Secret? {
        guard let value else { return nil }
        guard let text = value.string else {
            throw Failure(.malformedRequest, "\(name) must be a text, it is \(value.kind).")
        }
        return text.isEmpty ? nil : Secret(text)
    }

    /// The names of system members: the members of user objects that are not properties.
    ///
    /// The list has the system members of this service and those of Backendless.
    ///
    /// The names are in lower case without `_` and `-`.
    private static let system: Set<String> = [
        "objectid", "ownerid", "created", "updated", "lastlogin", "userstatus", "socialaccount", "accounttype",
        "oauthidentities", "bluserlocale", "password", "currentpassword", "roles", "emailverified", "isemailconfirmed",
        "usertoken", "usercreated", "missingpermissions",
    ]

    /// Returns whether a name is that of a system member, in any spelling.
    ///
    /// System members are the members of user objects that are not properties.
    ///
    /// Names with two leading underscores, such as `___class`, are markers of client SDKs and count as system members.
    private static func isSystem(_ name: String) -> Bool {
        let plain = name.utf8.lazy.filter { !$0.isOne(of: "_-") }.map(\.asciiLowercased)
        return name.utf8.starts(with: "__".utf8) || system.contains(String(decoding: Array(plain), as: UTF8.self))
    }

    /// Sets the property that is the user's login name, even if clients may not write that property otherwise.
    mutating func setLogin(_ login: Login, of application: Application) {
        let name = application.settings.identityProperty
        guard let property = application.properties.first(where: { $0.name == name }) else { return }
        given.values.removeAll { $0.property.name == name }
        given.values.append((property, .text(login.text)))
        ignored.removeAll { $0.hasSameBytes(as: name.text) }
    }

    /// Returns the e-mail address of the record; nil if it is absent.
    ///
    /// - Throws: `email_invalid`.
    func email() throws(Failure) -> EmailAddress? {
        guard case .value(.text(let text)) = given.given(.email) else { return nil }
        return try EmailAddress(client: text)
    }

    /// The user's name and e-mail address in the record.
    ///
    /// A password that consists of these texts is refused.
    var names: [String] {
        [PropertyName.name, .email].compactMap { name in
            guard case .value(.text(let text)) = given.given(name) else { return nil }
            return text
        }
    }
}

extension Login {
    /// Creates a login name from a client's value.
    ///
    /// - Throws: `email_invalid` if the login name is the e-mail address; `value_not_convertible` otherwise.
    package init(client text: String, of property: PropertyName) throws(Failure) {
        guard property != .email else {
            self = Login(try EmailAddress(client: text))
            return
        }
        guard let login = Login(text, of: property) else {
            throw Failure(
                .valueNotConvertible,
                """
                This value of "\(property)" cannot be a login name. It must be 1 to 255 bytes of visible characters, \
                without spaces at its ends.
                """,
                details: ["property": .string(property.text)]
            )
        }
        self = login
    }
}

extension Property {
    fileprivate func canBeWritten(by writer: Viewer, in application: Application) -> Bool {
        switch writer {
        case .server: true
        case .owner: clientMappable
        case .other: clientMappable && visibleTo.includes(.other) && !isLogin(in: application)
        }
    }

    /// Returns whether the property is the e-mail address or the login name.
    ///
    /// No user can change these properties of another user.
    func isLogin(in application: Application) -> Bool {
        [.email, application.settings.identityProperty].contains(name)
    }
}

extension JSONValue {
    /// Whether the value is an update operation of a client SDK: an expression, or a change of a part of a JSON value.
    ///
    /// The service refuses an update operation: if the operation were stored like a value, it would replace the user's
    /// value (docs/protocols/backendless.md §3.5).
    fileprivate var isUpdate: Bool {
        guard let object else { return false }
        return object["___operation"] != nil || object["___class"]?.string == "BackendlessExpression"
    }
}

extension Failure {
    fileprivate static func update(of name: String) -> Failure {
        Failure(
            .valueNotConvertible,
            """
            Nothing was written, because \(JSONValue.string(name).text) is an expression or a partial change. Send the \
            new value.
            """,
            details: ["property": .string(name)]
        )
    }

    /// The maximum number of property names in an error message; `errorData` has all names.
    private static let maxNames = 5

    /// Returns the failure for a record with undeclared properties.
    fileprivate static func undeclared(_ names: [String], isUpdate: Bool) -> Failure {
        let some = names.prefix(maxNames).map { JSONValue.string($0).text }.joined(separator: ", ")
        let others = names.count > maxNames ? " and \(names.count - maxNames) more" : ""
        return Failure(
            isUpdate ? .propertyUndeclaredInUpdate : .propertyUndeclared,
            """
            Nothing was written, because users of this app have no property \(some)\(others). An operator can declare \
            properties, with names of letters, digits and _, or allow undeclared ones with the setting \
            undeclaredProperties.
            """,
            details: ["properties": .array(names.map(JSONValue.string))]
        )
    }
}

extension EmailAddress {
    /// Creates an e-mail address from a client's text.
    ///
    /// - Throws: `email_invalid`.
    package init(client text: String) throws(Failure) {
        guard let email = EmailAddress(text) else {
            throw Failure(
                .emailInvalid,
                """
                This e-mail address is not valid. Send one address like ann@example.com, in ASCII characters without \
                spaces.
                """
            )
        }
        self = email
    }
}
