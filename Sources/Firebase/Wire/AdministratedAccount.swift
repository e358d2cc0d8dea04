import Accounts
import Applications
import Domain
import Encodings
import Logins

extension AccountChange {
    /// Reads the changes that a backend asks for in `accounts:update` (docs/protocols/firebase.md §10).
    ///
    /// - Throws: `INVALID_CLAIMS` and other names of errors, for the first value that cannot be written.
    init(_ fields: CallFields, in application: ServedApplication, now: Int64) throws(Failure) {
        self.init()
        record = try UserRecord(administrated: fields, in: application)
        for name in try fields.texts("deleteAttribute") {
            try record.give(try Self.property(ofAttribute: name, in: application), .null)
        }
        for id in try fields.texts("deleteProvider") {
            if id == "phone" {
                try record.give(application.settings.phoneNumber, .null)
            } else if let provider = id == "password" ? ProviderName.password : ProviderID.provider(id) {
                unlinked.append(provider)
            } else {
                throw .google(
                    "INVALID_PROVIDER_ID",
                    "deleteProvider names an unknown provider: \(id.prefix(40)). Send ids such as facebook.com."
                )
            }
        }
        if let text = try fields.text("customAttributes") {
            settings.claims =
                try CustomClaims.read(text).map(GivenProperties.Given.value)
                ?? GivenProperties.Given<String>.none
        }
        if let text = try fields.text("validSince") {
            guard let seconds = Int64(text), seconds >= 0 else {
                throw Failure(.malformedRequest, "validSince must be a number of seconds since 1970.")
            }
            // A future time would end sessions that are not open yet.
            settings.validSince = min(seconds, now)
        }
        settings.emailVerified = try fields.flag("emailVerified")
        isDisabled = try fields.flag("disableUser")
        if let given = fields.value("linkProviderUserInfo") { linked = try Self.identity(given, in: application) }
        if fields.object["mfa"] != nil { keptFactors = try Self.factors(fields.value("mfa")) }
    }

    private static func property(
        ofAttribute name: String,
        in application: ServedApplication
    ) throws(Failure) -> PropertyName {
        switch name {
        case "DISPLAY_NAME": return application.settings.displayName
        case "PHOTO_URL": return application.settings.photoURL
        case "EMAIL": return .email
        default: throw Failure(.malformedRequest, "deleteAttribute can have DISPLAY_NAME, PHOTO_URL and EMAIL only.")
        }
    }

    private static func identity(
        _ given: JSONValue,
        in application: ServedApplication
    ) throws(Failure) -> IdentityKey {
        guard let fields = given.object.map(CallFields.init), let id = try fields.filled("providerId"),
            let subject = try fields.filled("rawId")
        else { throw Failure(.malformedRequest, "linkProviderUserInfo must have providerId and rawId.") }
        let provider = ProviderID.provider(id)
        let identities = provider.map { application.loaded.identities(of: subject, at: $0) } ?? []
        guard let identity = identities.first else {
            throw .google(
                "INVALID_PROVIDER_ID",
                "The application does not have this provider, or no user of the provider can have this rawId."
            )
        }
        guard identities.count == 1 else {
            throw .google(
                "OPERATION_NOT_ALLOWED",
                """
                The application has several apps at this provider, which knows a user by another id in each. So rawId \
                alone names no identity. The operator can import the identity with its app.
                """
            )
        }
        return identity
    }

    /// Returns the second factors that `mfa` lists: the user must already have each of them.
    private static func factors(_ given: JSONValue?) throws(Failure) -> [ObjectID] {
        guard let given else { return [] }
        guard let mfa = given.object else { throw Failure(.malformedRequest, "mfa must be an object.") }
        guard let list = mfa.present("enrollments") else { return [] }
        guard let enrollments = list.array else {
            throw Failure(.malformedRequest, "mfa.enrollments must be a list.")
        }
        var ids: [ObjectID] = []
        for enrollment in enrollments {
            guard let id = enrollment.object?["mfaEnrollmentId"]?.string.flatMap({ ObjectID($0) }) else {
                throw .noEnrolment
            }
            ids.append(id)
        }
        return ids
    }
}

extension UserRecord {
    /// Reads the record of a new user that a backend creates by `projects/{project}/accounts`.
    ///
    /// - Throws: `INVALID_LOCAL_ID`, `OPERATION_NOT_ALLOWED`; `INVALID_ARGUMENT` for values of another type.
    init(new fields: CallFields, in application: ServedApplication) throws(Failure) {
        try self.init(administrated: fields, in: application)
        if let text = try fields.text("localId") {
            guard FirebaseUID(text) != nil else {
                throw .google("INVALID_LOCAL_ID", "localId must have 1 to 128 bytes, without control characters.")
            }
            uid = text
        }
        guard fields.value("mfaInfo")?.array?.isEmpty != false else { throw .noEnrolment }
        let (isVerified, email) = (try fields.flag("emailVerified"), try fields.filled("email"))
        confirmsAddress = isVerified == true && email != nil
        if try fields.flag("disabled") == true {
            properties.append("userStatus", .string(UserStatus.disabled.rawValue))
        }
    }

    /// Reads the members of a call that are properties, and the password.
    fileprivate init(administrated fields: CallFields, in application: ServedApplication) throws(Failure) {
        self.init()
        for (name, property) in [
            ("displayName", application.settings.displayName), ("photoUrl", application.settings.photoURL),
            ("phoneNumber", application.settings.phoneNumber), ("email", PropertyName.email),
        ] {
            guard let text = try fields.text(name) else { continue }
            try give(property, text.utf8.isEmpty ? .null : .string(text))
        }
        if let text = try fields.filled("password") { password = .string(text) }
    }

    /// Gives a property a value, or removes it.
    ///
    /// - Throws: `INVALID_ARGUMENT` if the call already has a value of the property.
    fileprivate mutating func give(_ property: PropertyName, _ value: JSONValue) throws(Failure) {
        guard properties[property.text] == nil else {
            throw Failure(.malformedRequest, "The call has two values of the property \(property). Send one.")
        }
        properties.append(property.text, value)
    }
}

extension Failure {
    fileprivate static let noEnrolment = Failure.google(
        "OPERATION_NOT_ALLOWED",
        """
        A backend can remove second factors, but not add one. The user enrols a factor in the app, since only the \
        user has its secret.
        """
    )
}
