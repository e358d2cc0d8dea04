import Applications
import Mapping
import Store
package import Vocabulary

/// A user's record as an application takes it: what it gives to properties, and what is no property.
///
/// Whole objects come back as they were received (docs/protocols/backendless.md §2.1), so what a client may not write
/// is no mistake: the system's own members, in any spelling, and properties that are not open to clients are passed
/// over, and so is what nobody has declared unless the application keeps undeclared properties.
struct ClientRecord {
    private(set) var given = GivenProperties()
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
    /// - Throws: `value_not_convertible` with the first property at fault; `malformed_request` for a password that is
    ///   no text.
    init(_ record: UserRecord, of loaded: LoadedApplication) throws(Failure) {
        password = try Self.password(record.password, "password")
        currentPassword = try Self.password(record.currentPassword, "currentPassword")
        objectID = record.objectID
        if let locale = record.locale { takeLocale(locale) }
        for member in record.properties.members { try take(member, of: loaded) }
    }

    private mutating func take(_ member: JSONObject.Member, of loaded: LoadedApplication) throws(Failure) {
        guard let name = PropertyName(member.key) else { return }
        if let property = loaded.application.properties.first(where: { $0.name == name }) {
            guard property.clientMappable else { return }
            // An empty address is none.
            let isNone = name == .email && member.value.string?.isEmpty == true
            given.values.append((property, isNone ? nil : try ClientValue.convert(member.value, to: property)))
        } else if loaded.application.settings.dynamicProperties, !Self.isSystem(name) {
            let isKnown = loaded.dynamicNames.contains(name)
            guard isKnown || !member.value.isNull else { return }
            if !isKnown { newDynamicNames.append(name) }
            given.dynamic.append(name.text, member.value)
        }
    }

    /// Takes the two letters of what a client's system calls the language, such as `en-US` or `pt_BR`.
    ///
    /// What has none is no reason to refuse a user.
    private mutating func takeLocale(_ value: JSONValue) {
        if value.isNull { given.locale = GivenProperties.Given<String>.none }
        guard let text = value.string, text.utf8.count <= 35 else { return }
        let letters = text.utf8.prefix { $0.isASCIILetter }
        guard letters.count == 2 else { return }
        given.locale = .value(String(decoding: letters.map { $0 | 0x20 }, as: UTF8.self))
    }

    private static func password(_ value: JSONValue?, _ name: String) throws(Failure) -> Secret? {
        guard let value else { return nil }
        guard let text = value.string else {
            throw Failure(.malformedRequest, "\(name) must be a text, it is \(value.kind).")
        }
        return text.isEmpty ? nil : Secret(text)
    }

    /// Members of user objects that the system keeps and that no property of ours has the name of, without underscores.
    private static let system: Set<String> = ["emailverified", "isemailconfirmed", "usertoken", "currentpassword"]

    /// Whether a name is the system's, however it is spelt.
    private static func isSystem(_ name: PropertyName) -> Bool {
        let plain = name.text.filter { $0 != "_" }
        return name.isReserved || PropertyName(plain)?.isReserved ?? true || system.contains(plain.lowercased())
    }

    /// Sets the e-mail address, whether clients may write that property otherwise or not.
    mutating func setEmail(_ email: EmailAddress, of application: Application) {
        guard let property = application.properties.first(where: { $0.name == .email }) else { return }
        given.values.removeAll { $0.property.name == .email }
        given.values.append((property, .text(email.text)))
    }

    /// Texts of the record that a password must not be.
    var names: [String] {
        guard case .value(.text(let name)) = given.given(.name) else { return [] }
        return [name]
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
