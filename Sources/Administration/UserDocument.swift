import Applications
import Domain
import Encodings
package import Store

/// Writes a user as JSON for operators, and computes the entity tag.
extension StoredUser {
    /// Returns the user as operators see it: `{"user", "identities", "password", "roles", "firebaseUid",
    /// "firebaseClaims", "sessions", "factors"}`.
    ///
    /// The entity tag depends only on the status and the identities. The other values can change by logins and by the
    /// user's own requests. Such a change must not make an operator's request fail.
    func resource(_ factors: [Domain.Factor]) -> Resource {
        Resource(.object(json(identities.map(\.json), factors.map(\.json))), tag: tag)
    }

    package var tag: String {
        EntityTag.of(
            .object([
                "objectId": .string(user.objectID.description),
                "userStatus": .string(user.status.rawValue),
                "identities": .array(identities.map { .object($0.key) }),
            ])
        )
    }

    /// Returns all data of the user, including those that no other response has.
    ///
    /// Only this response has the values that the mapping wrote last, the invitations, and the entries of the audit log
    /// about the user.
    func export(
        _ factors: [Domain.Factor],
        invitations: [StoredInvitation],
        audit: [AuditEntry]
    ) -> JSONValue {
        let identities = identities.map { identity in
            var json = identity.json
            json.append("written", .object(identity.written))
            return json
        }
        var object = json(identities, factors.map(\.json))
        object.append("invitations", .array(invitations.map { .object($0.json) }))
        object.append("audit", .array(audit.map(\.json)))
        return .object(object)
    }

    private func json(_ identities: [JSONObject], _ factors: [JSONObject]) -> JSONObject {
        [
            "user": user.operatorJSON,
            "identities": .array(identities.map(JSONValue.object)),
            "password": password.map(\.json) ?? .null,
            "roles": .array(roles.map(JSONValue.string)),
            "firebaseUid": uid.map(JSONValue.string) ?? .null,
            "firebaseClaims": claims.flatMap(CustomClaims.json).map(JSONValue.object) ?? .null,
            "sessions": .array(sessions.map(\.json)),
            "factors": .array(factors.map(JSONValue.object)),
        ]
    }
}

extension ListedUser {
    /// The user as `User.operatorJSON`, with the member `firebaseUid` if there is a uid and no property has that name.
    var operatorJSON: JSONValue {
        guard let uid, case .object(var object) = user.operatorJSON, object["firebaseUid"] == nil else {
            return user.operatorJSON
        }
        object.append("firebaseUid", .string(uid))
        return .object(object)
    }
}

extension User {
    /// The user with the members that client SDKs know (docs/protocols/backendless.md §3.1), for operators' scripts.
    ///
    /// The last member is `emailVerified`, unless a property has that name.
    var operatorJSON: JSONValue {
        var object: JSONObject = [
            "___class": .string("Users"),
            "objectId": .string(objectID.description),
            "ownerId": .string(objectID.description),
            "created": .integer(created),
            "updated": updated.map(JSONValue.integer) ?? .null,
            "lastLogin": lastLogin.map(JSONValue.integer) ?? .null,
            "userStatus": .string(status.rawValue),
            "socialAccount": socialAccount.map(JSONValue.string) ?? .null,
            "accountType": socialAccount.map(JSONValue.string) ?? .null,
            "blUserLocale": locale.map(JSONValue.string) ?? .null,
        ]
        for (name, value, _) in properties { object.append(name.text, value?.json ?? .null) }
        for member in dynamic.members { object.append(member.key, member.value) }
        if object["emailVerified"] == nil { object.append("emailVerified", .bool(emailVerified)) }
        return .object(object)
    }
}

extension StoredUser.Identity {
    /// The members of the JSON object that identify the identity.
    fileprivate var key: JSONObject {
        ["provider": .string(provider), "appId": .string(app), "subject": .string(subject)]
    }

    fileprivate var json: JSONObject {
        var object = key
        object.append("created", .integer(created))
        object.append("lastUsed", .integer(lastUsed))
        object.append("grantedScopes", .array(grantedScopes.map(JSONValue.string)))
        object.append("declinedScopes", .array(declinedScopes.map(JSONValue.string)))
        object.append("dataAccessExpires", dataAccessExpires.map(JSONValue.integer) ?? .null)
        object.append("revoked", revoked.map(JSONValue.integer) ?? .null)
        object.append("revokedBy", revokedBy.map(JSONValue.string) ?? .null)
        object.append("tokenKept", .bool(tokenKept))
        object.append("tokenExpires", tokenExpires.map(JSONValue.integer) ?? .null)
        object.append("checked", checked.map(JSONValue.integer) ?? .null)
        return object
    }
}

extension Factor {
    /// The factor as `{"id", "kind", "label", "hint"?, "codesLeft"?, "created", "lastUsed"}`.
    var json: JSONObject {
        var object: JSONObject = [
            "id": .string(id.description), "kind": .string(kind.rawValue),
            "label": label.map(JSONValue.string) ?? .null,
        ]
        if let hint { object.append("hint", .string(hint)) }
        if let codesLeft { object.append("codesLeft", .integer(Int64(codesLeft))) }
        object.append("created", .integer(created))
        object.append("lastUsed", lastUsed.map(JSONValue.integer) ?? .null)
        return object
    }
}

extension StoredUser.Password {
    fileprivate var json: JSONValue { .object(["login": .string(login), "changed": .integer(changed)]) }
}

extension StoredUser.Session {
    fileprivate var json: JSONValue {
        let moments: [JSONObject.Member] = [
            .init("created", .integer(created)), .init("lastSeen", .integer(lastSeen)),
            .init("expires", .integer(expires)),
        ]
        return .object(JSONObject([.init("id", .string(id))] + moments + origin.members))
    }
}
