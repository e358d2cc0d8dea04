package import Mapping
package import Vocabulary

/// What an operator says about an import besides where it comes from.
package struct ImportOptions: Sendable {
    /// From fields of the source to properties; without one, fields go to the properties of their names.
    package var mapping: Mapping?
    /// What system fields are called in plain CSV and lines of JSON.
    package var columns: [SystemField: String] = [:]
    /// To which app the ids of a provider belong where the source does not say.
    package var apps: [ProviderName: ProviderAppID] = [:]
    /// How providers tell people apart; those that are not named do as OpenID Connect has it.
    package var subjects: [ProviderName: SubjectRule] = [:]
    /// Providers whose identities are left out.
    package var withoutProviders: Set<ProviderName> = []
    /// Members that look like a way to log in, are not read, and are left out by the operator's wish.
    package var withoutMembers: Set<String> = []
    /// Whether hashes of passwords are left out, so that everybody sets a new one.
    package var withoutPasswords = false

    package init() {}
}

/// A user of a source as it is to be written.
package struct PlannedUser: Sendable {
    package let objectID: ObjectID
    package let source: ImportedUser
    /// Values for declared properties, and undeclared ones that are kept.
    package let given: GivenProperties
    /// The one spelling of what the user logs in with by a password; nil where the user has none and needs none.
    package let login: String?
    package let identities: [(key: IdentityKey, created: Int64?)]
    /// Fields with a value that have no property, and of which nothing is kept.
    package let untaken: [String]
}

/// How records of a source become users of an application.
package struct ImportPlan: Sendable {
    private let source: ImportSource
    private let application: Application
    private let options: ImportOptions
    private let reader: any UserSource
    private let mapping: CompiledMapping?
    /// The fields that the mapping reads.
    private let mappedFields: Set<String>
    private static let fields = ProfileFields(of: "the file", [:])

    /// - Throws: Every problem of the mapping.
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
        mappedFields = Set(compiled.graphFields.split(separator: ",").map { String($0) })
    }

    /// The user of a record.
    ///
    /// - Throws: Why there is none.
    package func user(of record: SourceRecord) throws(RecordRefusal) -> PlannedUser {
        var user = try record.user(by: reader)
        if options.withoutPasswords { user.password = nil }
        // A user cannot go on as a guest without a session.
        guard user.status != .guest else {
            throw RecordRefusal(.noLoginMethod, "a guest has nothing to log in with but a session")
        }
        for role in user.roles where !application.settings.roles.contains(where: { $0.hasSameBytes(as: role) }) {
            throw RecordRefusal(.roleUnknown, "the application has not one of its roles; add it to the setting roles")
        }
        let identities = try identities(of: user)
        let (values, untaken) = try properties(of: user, hasIdentities: !identities.isEmpty)
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
            untaken: untaken
        )
    }

    // MARK: Login methods

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

    /// What the user logs in by with a password: the value of the application's identity property.
    ///
    /// Who has neither a password nor an identity restores a password by mail, so there has to be an address.
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
    ) throws(RecordRefusal) -> (GivenProperties, untaken: [String]) {
        var given = GivenProperties()
        var untaken = try leftOut(of: user)
        if let mapping {
            try map(user.fields, by: mapping, into: &given)
        } else {
            for member in user.fields.members where !untaken.contains(member.key) {
                if try !take(member, into: &given) { untaken.append(member.key) }
            }
        }
        // Mails, those to restore a password among them, go to the property `email` and nowhere else.
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
        return (given, untaken)
    }

    /// The members that look like a way to log in, become no property, and may be left out.
    ///
    /// - Throws: `memberNotTaken` for the first that may not.
    private func leftOut(of user: ImportedUser) throws(RecordRefusal) -> [String] {
        let names = user.suspects.filter { name in
            guard user.fields[name] != nil else { return true }
            if mapping != nil { return !mappedFields.contains(FieldNames.folded(name)) }
            return !application.properties.contains { $0.name.text.hasSameBytes(as: name) }
        }
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

    /// Whether the field has a property, or a place among the undeclared ones.
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

/// What mappings call the fields of sources.
///
/// A mapping names fields in small letters, with `_` between words (docs/mapping.md#where-values-come-from), and
/// sources write `displayName`, `custom:Plan` and `First Name`.
enum FieldNames {
    /// The object with names that a mapping can say.
    ///
    /// A capital letter behind a small one or a digit begins a word, and what is neither a letter nor a digit ends one.
    /// Of two fields that get one name the first counts.
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
