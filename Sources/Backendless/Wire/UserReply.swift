import HTTP
import HTTPTypes
import Hummingbird
import Logins
import Vocabulary

/// The user object of replies.
enum UserReply {
    /// Writes the object, with the `user-token` of a login, and only the members that were asked for.
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

    /// Writes the object of a user, with the roles if they were asked for.
    static func write(_ found: (user: User, roles: [String]?), projection: Projection) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        write(found.user, roles: found.roles, projection: projection, into: &writer)
        return writer
    }

    /// Writes a list of objects.
    ///
    /// - Throws: `query_too_large` where they have more bytes than an answer may: what was read has fewer, and a member
    ///   may come back under several names.
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

    /// Writes the object of a login with what the headers of its reply tell, for a way that has none.
    ///
    /// Names of properties have no hyphen, so no member stands in the way of another.
    static func writeWithHeaders(_ signedIn: SignedIn) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writeMembers(of: signedIn.user, token: signedIn.token, projection: .everything(for: .owner), into: &writer)
            writer.member("user-created", .bool(signedIn.created))
            writer.member("missing-permissions", .array(signedIn.missingPermissions.map(JSONValue.string)))
        }
        return writer
    }

    /// Writes the object inside another value, with the user's roles if they were asked for.
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
    /// The reply to a login: the user object, and in headers whether the user is new and which permissions the mapping
    /// missed.
    ///
    /// - Parameters:
    ///   - signedIn: The login.
    ///   - more: Members behind those of the user.
    /// - Returns: The reply.
    static func signedIn(_ signedIn: SignedIn, adding more: JSONObject = JSONObject()) -> Response {
        var headers = HTTPFields.missing(signedIn.missingPermissions)
        headers[.userCreated] = signedIn.created ? "true" : "false"
        return .json(UserReply.write(signedIn.user, token: signedIn.token, adding: more), headers: headers)
    }
}

extension HTTPFields {
    /// The header that names permissions which the mapping missed; none when it missed none.
    static func missing(_ permissions: [String]) -> HTTPFields {
        permissions.isEmpty ? [:] : [.missingPermissions: permissions.joined(separator: ", ")]
    }
}

extension User {
    /// Hands over the members of the user object that somebody sees, in their order: flat, as client SDKs expect it
    /// (docs/protocols/backendless.md §3.1).
    ///
    /// A value that nobody asks for is not made.
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
