import Applications
import Mapping
import Store
package import Vocabulary

/// A user's record as an application takes it: what it gives to properties, and what is no property.
///
/// Who writes it decides what it can give: the user what is open to clients, another user only what others show of
/// that, a server everything. Whole objects come back as they were received (docs/protocols/backendless.md §2.1), so
/// whatever our own replies have is no mistake: the system's own members, in any spelling, are passed over, and so is
/// what is not open to clients. What no reply has, since nobody has declared it, is refused, kept or dropped, as the
/// application has it (decision D19).
struct ClientRecord {
    private let writer: Viewer
    private(set) var given = GivenProperties()
    /// Names of what the client gives and the user does not have, in the order of the record: nothing becomes of it.
    private(set) var ignored: [String] = []
    /// Undeclared properties that the application does not know yet.
    private(set) var newDynamicNames: [PropertyName] = []
    /// The password to have; nil when there is none, or an empty one.
    private(set) var password: Secret?
    /// The password that the user has, as reauthentication.
    private(set) var currentPassword: Secret?
    /// Whose record it is, as the client says.
    private(set) var objectID: JSONValue?

    /// Reads a record.
    ///
    /// - Parameters:
    ///   - record: What the client writes.
    ///   - user: Who is to be changed by it; nil at a registration.
    ///   - loaded: The application.
    ///   - writer: Who writes it.
    /// - Throws: `value_not_convertible` with the first property at fault; `property_undeclared`, or
    ///   `property_undeclared_in_update`, with all that are; `malformed_request` for a password that is no text.
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
        // In which language somebody is written to is nobody else's to choose.
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
            // An empty address, or login, is none.
            let isNone = property.isLogin(in: loaded.application) && member.value.string?.isEmpty == true
            given.values.append((property, isNone ? nil : try value()))
        } else if !property.visibleTo.includes(writer) {
            // Nobody learns by a guess what they may not see.
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

    /// Takes what nobody has declared.
    ///
    /// - Returns: Whether the record can be taken with it.
    private mutating func take(undeclared member: JSONObject.Member, for user: User?, of loaded: LoadedApplication)
        -> Bool
    {
        let settings = loaded.application.settings
        let name = PropertyName(member.key)
        let stored = writer == .other ? nil : user?.dynamic[member.key]
        // A login may have brought it in a moment ago, which the copy of the configuration does not know yet.
        let isKnown = stored != nil || name.map(loaded.dynamicNames.contains) ?? false
        if settings.undeclared == .store, writer != .other, let name, isKnown || !name.isReserved {
            guard isKnown || !member.value.isNull else { return true }
            if !isKnown { newDynamicNames.append(name) }
            given.dynamic.append(name.text, member.value)
        } else if isKnown {
            // Replies have it, those to others aside.
            if writer == .other || member.value != stored ?? .null { ignored.append(member.key) }
        } else if !member.value.isNull {
            guard settings.undeclared == .drop else { return false }
            ignored.append(member.key)
        }
        return true
    }

    /// Takes the two letters of what a client's system calls the language, such as `en-US` or `pt_BR`.
    ///
    /// What has none is no reason to refuse a user.
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

    /// Members that user objects have here or at Backendless and that are no properties, in small letters without what
    /// joins words.
    private static let system: Set<String> = [
        "objectid", "ownerid", "created", "updated", "lastlogin", "userstatus", "socialaccount", "accounttype",
        "oauthidentities", "bluserlocale", "password", "currentpassword", "roles", "emailverified", "isemailconfirmed",
        "usertoken", "usercreated", "missingpermissions",
    ]

    /// Whether a name is the system's, however it is spelt; what begins with two underscores, as `___class` does, is a
    /// mark of client SDKs.
    private static func isSystem(_ name: String) -> Bool {
        let plain = name.utf8.lazy.filter { !$0.isOne(of: "_-") }.map(\.asciiLowercased)
        return name.utf8.starts(with: "__".utf8) || system.contains(String(decoding: Array(plain), as: UTF8.self))
    }

    /// Sets what the user logs in by, whether clients may write that property otherwise or not.
    mutating func setLogin(_ login: Login, of application: Application) {
        let name = application.settings.identityProperty
        guard let property = application.properties.first(where: { $0.name == name }) else { return }
        given.values.removeAll { $0.property.name == name }
        given.values.append((property, .text(login.text)))
        ignored.removeAll { $0.hasSameBytes(as: name.text) }
    }

    /// The e-mail address that is given; nil when none is.
    ///
    /// - Throws: `email_invalid`.
    func email() throws(Failure) -> EmailAddress? {
        guard case .value(.text(let text)) = given.given(.email) else { return nil }
        return try EmailAddress(client: text)
    }

    /// Texts of the record that a password must not be.
    var names: [String] {
        [PropertyName.name, .email].compactMap { name in
            guard case .value(.text(let text)) = given.given(name) else { return nil }
            return text
        }
    }
}

extension Login {
    /// What a client gives a user to log in by.
    ///
    /// - Throws: `email_invalid` where people log in by the e-mail address, `value_not_convertible` otherwise.
    package init(client text: String, of property: PropertyName) throws(Failure) {
        guard property != .email else {
            self = Login(try EmailAddress(client: text))
            return
        }
        guard let login = Login(text, of: property) else {
            throw Failure(
                .valueNotConvertible,
                "Nobody can log in by this value of \"\(property)\": it must be 1 to 255 bytes of characters that can be seen, without spaces around them.",
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

    /// Whether it is the address, or what people log in by instead: others never change it.
    func isLogin(in application: Application) -> Bool {
        [.email, application.settings.identityProperty].contains(name)
    }
}

extension JSONValue {
    /// Whether it says how a value is to change, as client SDKs put an expression or a change of a part of a JSON value
    /// (docs/protocols/backendless.md §3.5): stored as it is, it would take the place of the value.
    fileprivate var isUpdate: Bool {
        guard let object else { return false }
        return object["___operation"] != nil || object["___class"]?.string == "BackendlessExpression"
    }
}

extension Failure {
    fileprivate static func update(of name: String) -> Failure {
        Failure(
            .valueNotConvertible,
            "Nothing was written, since \(JSONValue.string(name).text) was given by an expression or as a change of a part of it: send the value that it is to have.",
            details: ["property": .string(name)]
        )
    }

    /// Names that a message repeats; `errorData` has all.
    private static let mostNames = 5

    /// A record has properties that are none of the application's.
    fileprivate static func undeclared(_ names: [String], isUpdate: Bool) -> Failure {
        let some = names.prefix(mostNames).map { JSONValue.string($0).text }.joined(separator: ", ")
        let others = names.count > mostNames ? " and \(names.count - mostNames) more" : ""
        return Failure(
            isUpdate ? .propertyUndeclaredInUpdate : .propertyUndeclared,
            """
            Nothing was written, since users of this app have no property \(some)\(others). An operator can declare \
            properties, by names of letters, digits and _, and decides by undeclaredProperties what becomes of others.
            """,
            details: ["properties": .array(names.map(JSONValue.string))]
        )
    }
}

extension EmailAddress {
    /// An address that a client gives.
    ///
    /// - Throws: `email_invalid`.
    package init(client text: String) throws(Failure) {
        guard let email = EmailAddress(text) else {
            throw Failure(
                .emailInvalid,
                "This is no e-mail address that can be used here: one address like ann@example.com, of ASCII characters, without spaces."
            )
        }
        self = email
    }
}
