import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import PublicAPI

/// Writes the user object in responses.
enum UserReply {
    /// Writes the user object with the requested members.
    ///
    /// `token` is the session token in the response to a login, as the member `user-token`. Then follow the members of
    /// `more`.
    static func write(
        _ user: User,
        token: SessionToken? = nil,
        projection: Projection = .everything(for: .owner),
        adding more: JSONObject = JSONObject()
    ) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writeMembers(of: user, token: token, projection: projection, into: &writer)
            for member in more.members { writer.member(member.key, member.value) }
        }
        return writer
    }

    /// Writes the user object, with the user's roles if they were requested.
    static func write(_ found: (user: User, roles: [String]?), projection: Projection) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        write(found.user, roles: found.roles, projection: projection, into: &writer)
        return writer
    }

    /// Writes a list of user objects.
    ///
    /// - Throws: `query_too_large` if the response would be too large. The rows from the database are below the limit,
    ///   but the response may contain a member under several names.
    static func write(
        _ found: [(user: User, roles: [String]?)],
        projection: Projection
    ) throws(Failure) -> JSONWriter {
        var writer = JSONWriter(capacity: 4096)
        writer.array { writer in
            for (user, roles) in found where writer.bytes.count <= UserQuery.maxBytes {
                write(user, roles: roles, projection: projection, into: &writer)
            }
        }
        guard writer.bytes.count <= UserQuery.maxBytes else { throw .pageTooLarge(over: UserQuery.maxBytes) }
        return writer
    }

    /// Writes the user object of a login together with values that other responses have in headers.
    ///
    /// A popup posts this object as a message to the page that opened the popup, and a message has no headers. The
    /// names of the added members contain a hyphen, which no property name does. So an added member never collides with
    /// a property.
    static func writeWithHeaders(_ signedIn: LoginResult) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writeMembers(of: signedIn.user, token: signedIn.token, projection: .everything(for: .owner), into: &writer)
            writer.member("user-created", .bool(signedIn.created))
            writer.member("missing-permissions", .array(signedIn.missingPermissions.map(JSONValue.string)))
        }
        return writer
    }

    /// Writes the user object as a part of another value, with the user's roles if they were requested.
    static func write(
        _ user: User,
        token: SessionToken? = nil,
        roles: [String]? = nil,
        projection: Projection = .everything(for: .owner),
        into writer: inout JSONWriter
    ) {
        writer.object { writer in
            writeMembers(of: user, token: token, projection: projection, into: &writer)
            if let roles { writer.member("roles", .array(roles.map(JSONValue.string))) }
        }
    }

    private static func writeMembers(
        of user: User,
        token: SessionToken?,
        projection: Projection,
        into writer: inout JSONWriter
    ) {
        user.forEachMember(for: projection.viewer) { key, value in
            for name in projection.names(of: key) { writer.member(name, value()) }
        }
        if let token { writer.member("user-token", token.secret.reveal()) }
    }
}

extension Response {
    /// Returns the response to a login.
    ///
    /// The body is the user object. Headers say whether the user is new, and which permissions the mapping would have
    /// needed in addition.
    ///
    /// - Parameters:
    ///   - signedIn: The login.
    ///   - more: Members that follow those of the user.
    /// - Returns: The response.
    static func signedIn(_ signedIn: LoginResult, adding more: JSONObject = JSONObject()) -> Response {
        var headers = HTTPFields.missing(signedIn.missingPermissions)
        headers[.userCreated] = signedIn.created ? "true" : "false"
        return .json(UserReply.write(signedIn.user, token: signedIn.token, adding: more), headers: headers)
    }
}

extension HTTPFields {
    /// Returns the header with the permissions that the mapping needed and the user has not granted; no header if there
    /// are none.
    static func missing(_ permissions: [String]) -> HTTPFields {
        permissions.isEmpty ? [:] : [.missingPermissions: permissions.joined(separator: ", ")]
    }
}

extension User {
    /// Calls the closure `take` with each member of the user object that a viewer may see, in order.
    ///
    /// The object is flat, since client SDKs expect this (docs/protocols/backendless.md §3.1). A value is computed only
    /// if the closure uses it.
    func forEachMember(for viewer: Viewer, _ take: (_ key: String, _ value: @autoclosure () -> JSONValue) -> Void) {
        take("___class", .string("Users"))
        take("objectId", .string(objectID.description))
        take("ownerId", .string(objectID.description))
        take("created", .integer(created))
        take("updated", updated.map(JSONValue.integer) ?? .null)
        if viewer != .other {
            take("lastLogin", lastLogin.map(JSONValue.integer) ?? .null)
            take("userStatus", .string(status.rawValue))
            take("socialAccount", socialAccount.map(JSONValue.string) ?? .null)
            take("accountType", socialAccount.map(JSONValue.string) ?? .null)
            take("blUserLocale", locale.map(JSONValue.string) ?? .null)
        }
        for (name, value, visibleTo) in properties where visibleTo.includes(viewer) {
            take(name.text, value?.json ?? .null)
        }
        if viewer != .other { for member in dynamic.members { take(member.key, member.value) } }
    }
}

extension Schema {
    static let user = object(
        [
            "___class": .string.const("Users"),
            "objectId": .uuid,
            "ownerId": .uuid,
            "created": .moment,
            "updated": .moment.nullable,
            "lastLogin": .moment.nullable,
            "userStatus": .cases(of: UserStatus.self),
            "socialAccount": .string.nullable.described(
                """
                BACKENDLESS for accounts with a password and for guests. FACEBOOK or TWITTER for users who joined with \
                it, including former guests.
                """
            ),
            "accountType": .string.nullable.described("The same."),
            "blUserLocale": .string.nullable,
            "email": .string.nullable,
            "name": .string.nullable,
        ],
        optional: [
            "user-token": .string.pattern("^[A-Za-z0-9_-]{43}$").described("Of a login: the session."),
            "trusted-device": .string.pattern("^[A-Za-z0-9_-]{43}$").described(
                """
                Of a login with a second factor and trustDevice, if the application trusts devices. Send it with later \
                logins as trustedDevice.
                """
            ),
            "recovery-codes": .strings.rule("minItems", .integer(10)).count(upTo: 10).described(
                "Of a login that ended with an enrolment. Shown only once."
            ),
        ]
    ).open.described(
        "The application's declared properties follow as further members. null: no value."
    ).named("User")
}

extension Reply {
    static let signedIn = success(
        "The user, with the session in `user-token`.",
        as: "LoginResult",
        headers: [.userCreated, .missingPermissions],
        .user
    )

    static let someMembers = success("The user, or the requested members.", as: "SomeMembers", .anyObject)
}

extension ReplyHeader {
    static let userCreated = ReplyHeader(
        "Federation-User-Created",
        as: "UserCreated",
        .oneOf("true", "false"),
        "Whether this login created the user."
    )

    static let missingPermissions = ReplyHeader(
        "Federation-Missing-Permissions",
        as: "MissingPermissions",
        .string,
        """
        Missing permissions of the provider for mapped properties, separated by comma and space. Absent if none are \
        missing. A login with auth_type=rerequest requests them again.
        """,
        isRequired: false
    )
}
