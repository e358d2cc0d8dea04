package import Domain
import Encodings
package import Mapping

/// The options of an import other than its source.
package struct ImportOptions: Sendable {
    /// The mapping from fields of the file to properties.
    ///
    /// Without a mapping, the value of a field goes to the property of the same name.
    package var mapping: Mapping?
    /// The names that a plain CSV or NDJSON file has for system fields such as `objectId`, if they differ from the
    /// usual ones.
    package var columns: [SystemField: String] = [:]
    /// For each provider, the app to which an identity belongs if the file does not name its app.
    package var apps: [ProviderName: ProviderAppID] = [:]
    /// For each provider, the member of a record whose value is the user's id at the provider.
    ///
    /// Apps have such a member if they copied the id into a property of their own, such as `facebookId`.
    package var identityMembers: [ProviderName: String] = [:]
    /// The rule for valid subjects (ids of users) at each provider.
    ///
    /// For a provider without an entry, the rule of OpenID Connect applies.
    package var subjects: [ProviderName: SubjectRule] = [:]
    /// The providers whose identities the import leaves out.
    package var withoutProviders: Set<ProviderName> = []
    /// The names of members of records that the import leaves out, although they look like a credential or an identity.
    package var withoutMembers: Set<String> = []
    /// Whether the import leaves out password hashes.
    ///
    /// Users with an identity then have no password. Users without an identity then have to set a new password.
    package var withoutPasswords = false

    package init() {}
}

/// A user of an import file, ready to be stored.
package struct PlannedUser: Sendable {
    package let objectID: ObjectID
    package let source: ImportedUser
    /// The values of declared properties, and the undeclared properties to store.
    package let given: GivenProperties
    /// The normalized login name; nil if the user has no password and needs none.
    package let login: String?
    package let identities: [(key: IdentityKey, created: Int64?)]
    /// The fields that are not stored: they have a value, but no property has their name.
    package let unmapped: [String]
}

/// Converts the records of an import file to users of an application.
package struct ImportPlan: Sendable {
    private let source: ImportSource
    private let application: Application
    private let options: ImportOptions
    private let reader: any UserSource
    private let mapping: CompiledMapping?
    /// The fields of the import file that the mapping reads.
    private let mappedFields: Set<String>
    private static let fields = ProfileFields(of: "the file", [:])

    /// Creates the conversion for an application, and compiles the mapping of the options.
    ///
    /// - Throws: All problems of the mapping.
    package init(
        _ source: ImportSource,
        for application: Application,
        _ options: ImportOptions
    ) throws(MappingProblems) {
        self.source = source
        self.application = application
        self.options = options
        reader = source.reader(columns: options.columns)
        guard let mapping = options.mapping else {
            (self.mapping, mappedFields) = (nil, [])
            return
        }
        let compiled = try CompiledMapping(
            stored: mapping,
            client: nil,
            fields: Self.fields,
            properties: application.properties,
            settings: application.settings
        )
        self.mapping = compiled
        mappedFields = Set(compiled.fields.split(separator: ",").map { String($0) })
    }

    /// Returns the user of a record.
    ///
    /// - Throws: The reason why the record is no user.
    package func user(of record: SourceRecord) throws(RecordRefusal) -> PlannedUser {
        var user = try reader.user(record.members())
        try takeIdentities(of: &user)
        if options.withoutPasswords { user.password = nil }
        // A guest has no login method but a session, and an import adds no sessions.
        guard user.status != .guest else {
            throw RecordRefusal(.noLoginMethod, "a guest has nothing to log in with but a session")
        }
        for role in user.roles where !application.settings.roles.contains(where: { $0.hasSameBytes(as: role) }) {
            throw RecordRefusal(.roleUnknown, "the application has not one of its roles; add it to the setting roles")
        }
        let identities = try identities(of: user)
        let (values, unmapped) = try properties(of: user, hasIdentities: !identities.isEmpty)
        var given = values
        given.locale = user.locale.map { .value($0) }
        let email = try Self.email(in: given)
        return PlannedUser(
            objectID: user.keepsID
                ? ObjectID(user.id) ?? ObjectID(of: user.id, at: source, in: application.id)
                : ObjectID(of: user.id, at: source, in: application.id),
            source: user,
            given: given,
            login: try login(of: user, given, email, hasIdentities: !identities.isEmpty),
            identities: identities,
            unmapped: unmapped
        )
    }

    // MARK: Login methods

    /// Adds the identities whose subjects (the ids at the providers) are values of the members in `identityMembers`.
    ///
    /// If no property takes such a member, it is removed from the fields.
    ///
    /// - Throws: `identityNotTaken` for a value that cannot be an id, and if the export has another id of the user at
    ///   the provider. Clients may have written the member.
    private func takeIdentities(of user: inout ImportedUser) throws(RecordRefusal) {
        let members = options.identityMembers
        guard !members.isEmpty else { return }
        let fields = user.fields
        user.suspects.removeAll { suspect in members.values.contains { $0.hasSameBytes(as: suspect) } }
        user.fields = fields.without(Set(members.values.filter { !isTaken($0) }))
        for (provider, member) in members {
            guard let subject = fields.text(member) else {
                guard fields.present(member) == nil || fields.present(member)?.string != nil else {
                    throw RecordRefusal(.identityNotTaken, "its \(member) is no id at \(provider)")
                }
                continue
            }
            guard user.identities.allSatisfy({ $0.provider != provider.text || $0.subject.hasSameBytes(as: subject) })
            else {
                let problem = "its \(member) differs from the id at \(provider) that the export has for the user"
                throw RecordRefusal(.identityNotTaken, problem)
            }
            user.identities.append(ImportedIdentity(provider.text, subject: subject))
        }
    }

    /// Returns the identities of a record and the id of its user, also if the record is refused.
    package func claim(of record: SourceRecord) -> (identities: [IdentityKey], user: String) {
        guard let members = try? record.members(), var user = try? reader.user(members) else { return ([], "") }
        try? takeIdentities(of: &user)
        return (((try? identities(of: user)) ?? []).map(\.key), user.id)
    }

    /// Whether a property takes a member of a record.
    ///
    /// The mapping decides which members are taken. Without a mapping, a property takes the member of its own name.
    private func isTaken(_ member: String) -> Bool {
        if mapping != nil { return mappedFields.contains(FieldNames.folded(member)) }
        return application.properties.contains { $0.name.text.hasSameBytes(as: member) }
    }

    private func identities(of user: ImportedUser) throws(RecordRefusal) -> [(key: IdentityKey, created: Int64?)] {
        var identities: [(key: IdentityKey, created: Int64?)] = []
        for identity in user.identities {
            guard let provider = ProviderName(identity.provider), provider != .password else {
                throw RecordRefusal(.identityNotTaken, "an identity is of a provider whose name cannot be one here")
            }
            if options.withoutProviders.contains(provider) { continue }
            let rule = options.subjects[provider] ?? SubjectRule()
            let known = identity.app.flatMap(ProviderAppID.init) ?? options.apps[provider]
            guard let app = known ?? (rule.isGlobal ? .global : nil) else {
                let remedy = "give --app \(provider)=ID, or leave it out by --without-provider \(provider)"
                let problem = "nothing says to which app of \(provider) an identity belongs"
                throw RecordRefusal(.identityNotTaken, "\(problem): \(remedy)")
            }
            guard let subject = rule.subject(identity.subject) else {
                throw RecordRefusal(.identityNotTaken, "an identity at \(provider) has an id that is none there")
            }
            let key = IdentityKey(provider: provider, app: app, subject: subject)
            guard !identities.contains(where: { $0.key == key }) else { continue }
            identities.append((key, identity.created))
        }
        return identities
    }

    private static func email(in given: GivenProperties) throws(RecordRefusal) -> EmailAddress? {
        guard case .value(.text(let text)) = given.given(.email) else { return nil }
        guard let email = EmailAddress(text) else {
            throw RecordRefusal(.emailInvalid, "its e-mail is none that can be used here: one address, all ASCII")
        }
        return email
    }

    /// Returns the login name of the user: the value of the property that the application uses for logins with a
    /// password.
    ///
    /// The result is nil for a user who has an identity and no password.
    ///
    /// - Throws: `noLoginMethod` for any other user without a login name. Also for a user who has neither an identity
    ///   nor a password nor an address: such a user could not even reset the password by mail.
    private func login(
        of user: ImportedUser,
        _ given: GivenProperties,
        _ email: EmailAddress?,
        hasIdentities: Bool
    ) throws(RecordRefusal) -> String? {
        guard user.password != nil || !hasIdentities else { return nil }
        let property = application.settings.identityProperty
        let login: Login?
        if property == .email {
            login = (user.login.flatMap(EmailAddress.init) ?? email).map(Login.init)
        } else {
            login = if case .value(.text(let text)) = given.given(property) { application.login(text) } else { nil }
        }
        guard let login else {
            throw RecordRefusal(
                .noLoginMethod,
                "people log in by \(property) here, and it has none that can be a login"
                    + (hasIdentities
                        ? ": --without-passwords leaves its password out" : ", and no identity that is taken")
            )
        }
        guard user.password != nil || email != nil else {
            throw RecordRefusal(
                .noLoginMethod,
                "nobody could log in: it has no password, and no address to restore one"
            )
        }
        return login.key
    }

    // MARK: Properties

    private func properties(
        of user: ImportedUser,
        hasIdentities: Bool
    ) throws(RecordRefusal) -> (GivenProperties, unmapped: [String]) {
        var given = GivenProperties()
        var unmapped = try leftOut(of: user)
        if let mapping {
            try map(user.fields, by: mapping, into: &given)
        } else {
            for member in user.fields.members where !unmapped.contains(member.key) {
                if try !take(member, into: &given) { unmapped.append(member.key) }
            }
        }
        // Mails such as those for a password reset go only to the address in the property `email`.
        if application.settings.identityProperty == .email, user.password != nil || !hasIdentities,
            given.given(.email)?.value == nil, let address = user.login.flatMap(EmailAddress.init),
            let property = application.properties.first(where: { $0.name == .email })
        {
            given.values.removeAll { $0.property.name == .email }
            given.values.append((property, .text(address.text)))
        }
        for property in application.properties where property.required {
            guard case .value = given.given(property.name) else {
                throw RecordRefusal(.propertyMissing, "the property \(property.name) is required, and it has none")
            }
        }
        return (given, unmapped)
    }

    /// Returns the members that look like a credential or an identity, but that the import leaves out.
    ///
    /// No property takes these members, and the operator has named each of them in the option `withoutMembers`.
    ///
    /// - Throws: `memberNotTaken` if the operator has not named one of these members.
    private func leftOut(of user: ImportedUser) throws(RecordRefusal) -> [String] {
        let names = user.suspects.filter { user.fields[$0] == nil || !isTaken($0) }
        if let name = names.first(where: { !options.withoutMembers.contains($0) }) {
            throw RecordRefusal(
                .memberNotTaken,
                """
                its member \(JSONValue.string(name).text) looks like a credential, a hash or an identity, and is read as \
                none: bring it into the form that docs/migrating has for the source, declare it as a property, or leave \
                it out by --without-member
                """
            )
        }
        return names
    }

    private func map(
        _ fields: JSONObject,
        by mapping: CompiledMapping,
        into given: inout GivenProperties
    ) throws(RecordRefusal) {
        let profile = AdmittedProfile(FieldNames.folded(fields), by: Self.fields)
        let mapped: MappedProfile
        do { mapped = try mapping.apply(to: profile, grantedScopes: []) } catch {
            throw RecordRefusal(.valueNotConvertible, error.message)
        }
        if let omission = mapped.omissions.first {
            let why = "\(omission.field) does not fit the property \(omission.property): \(omission.reason.rawValue)"
            throw RecordRefusal(.valueNotConvertible, why)
        }
        for (target, value) in zip(mapping.targets, mapped.values) {
            guard case .column(let property) = target.place, let value else { continue }
            given.values.append((property, value))
        }
    }

    /// Adds the value of a field as the property of the same name, declared or undeclared.
    ///
    /// - Returns: Whether the application can store the field.
    private func take(_ member: JSONObject.Member, into given: inout GivenProperties) throws(RecordRefusal) -> Bool {
        guard let name = PropertyName(member.key) else { return false }
        if let property = application.properties.first(where: { $0.name == name }) {
            let typed = SourceValue.value(member.value, for: property.type)
            let value: PropertyValue?
            do {
                value = try ClientValue.convert(
                    typed,
                    to: property,
                    offsetlessTimes: application.settings.offsetlessTimes
                )
            } catch {
                let type = property.type.rawValue
                throw RecordRefusal(.valueNotConvertible, "the value of \(name) does not fit its type \(type)")
            }
            given.values.append((property, value))
            return true
        }
        guard application.settings.undeclared == .store, !name.isReserved else { return false }
        if !member.value.isNull { given.dynamic.append(name.text, member.value) }
        return true
    }
}

/// Converts the field names of an import file to the syntax of mappings.
///
/// A mapping names fields in lower case, with `_` between words (docs/mapping.md#where-values-come-from). Other systems
/// write `displayName`, `custom:Plan` and `First Name`.
enum FieldNames {
    /// Returns the object with names that a mapping can use.
    ///
    /// A capital letter after a lower-case letter or a digit begins a word. A character that is neither a letter nor a
    /// digit separates words. If two fields get the same name, only the first one is kept.
    static func folded(_ object: JSONObject) -> JSONObject {
        var result = JSONObject()
        for member in object.members {
            let name = folded(member.key)
            guard result[name] == nil else { continue }
            result.append(name, folded(member.value))
        }
        return result
    }

    private static func folded(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object): .object(folded(object))
        case .array(let elements): .array(elements.map(folded))
        default: value
        }
    }

    static func folded(_ name: String) -> String {
        var result: [UInt8] = []
        var isBehindSmall = false
        for byte in name.utf8 {
            let isCapital = byte.isASCIILetter && !byte.isASCIILowercase
            if isCapital, isBehindSmall { result.append(UInt8(ascii: "_")) }
            result.append(byte.isASCIIAlphanumeric ? byte.asciiLowercased : UInt8(ascii: "_"))
            isBehindSmall = byte.isASCIIAlphanumeric && !isCapital
        }
        return String(decoding: result, as: UTF8.self)
    }
}
