import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import PublicAPI

/// The user object of responses.
enum UserReply {
    /// Writes the user object with the requested members, and with the `user-token` of a login.
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
    /// - Throws: `query_too_large` where the response would be too large: the rows that were read are smaller than the
    ///   limit, but the response may have a member under several names.
    static func write(
        _ found: [(user: User, roles: [String]?)],
        projection: Projection
    ) throws(Failure) -> JSONWriter {
        var writer = JSONWriter(capacity: 4096)
        writer.array { writer in
            for (user, roles) in found where writer.bytes.count <= UserQuery.mostBytes {
                write(user, roles: roles, projection: projection, into: &writer)
            }
        }
        guard writer.bytes.count <= UserQuery.mostBytes else { throw .pageTooLarge(over: UserQuery.mostBytes) }
        return writer
    }

    /// Writes the user object of a login with the values of the response's headers, for a channel without headers.
    ///
    /// The added members have a hyphen, which no property name has, so members cannot collide.
    static func writeWithHeaders(_ signedIn: SignedIn) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writeMembers(of: signedIn.user, token: signedIn.token, projection: .everything(for: .owner), into: &writer)
            writer.member("user-created", .bool(signedIn.created))
            writer.member("missing-permissions", .array(signedIn.missingPermissions.map(JSONValue.string)))
        }
        return writer
    }

    /// Writes the user object inside another value, with the user's roles if they were requested.
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
    /// The body is the user object. Headers tell whether the user is new and which permissions the mapping missed.
    ///
    /// - Parameters:
    ///   - signedIn: The login.
    ///   - more: Members that follow those of the user.
    /// - Returns: The response.
    static func signedIn(_ signedIn: SignedIn, adding more: JSONObject = JSONObject()) -> Response {
        var headers = HTTPFields.missing(signedIn.missingPermissions)
        headers[.userCreated] = signedIn.created ? "true" : "false"
        return .json(UserReply.write(signedIn.user, token: signedIn.token, adding: more), headers: headers)
    }
}

extension HTTPFields {
    /// Returns the header that names the permissions that the mapping missed; no header when it missed none.
    static func missing(_ permissions: [String]) -> HTTPFields {
        permissions.isEmpty ? [:] : [.missingPermissions: permissions.joined(separator: ", ")]
    }
}

extension User {
    /// Calls a closure with each member of the user object that a viewer may see, in order.
    ///
    /// The object is flat, as client SDKs expect it (docs/protocols/backendless.md §3.1). A value is computed only when
    /// the closure uses it.
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
                BACKENDLESS for accounts with a password and guests; FACEBOOK or TWITTER for users who came by it, \
                guests who became users by it included.
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
                Of a login that a second factor has finished, where trustDevice was true and the application trusts \
                devices: send it with the next logins as trustedDevice.
                """
            ),
            "recovery-codes": .strings.rule("minItems", .integer(10)).count(upTo: 10).described(
                "Of a login that an enrolment has finished: shown this once."
            ),
        ]
    ).open.described(
        "The application's declared properties follow as further members; what has no value is null."
    ).named("User")
}

extension Reply {
    static let signedIn = success(
        "The user, with the session in `user-token`.",
        as: "SignedIn",
        headers: [.userCreated, .missingPermissions],
        .user
    )

    static let someMembers = success("The user, or the members that were asked for.", as: "SomeMembers", .anyObject)
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
        Permissions at the provider whose absence left mapped properties unfilled, separated by comma and space; \
        absent when none did. A login with auth_type=rerequest asks for them again.
        """,
        isRequired: false
    )
}
