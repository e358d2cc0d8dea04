import Description
import Domain
import Encodings

extension [Parameter] {
    /// The query parameters of routes that return a list in pages.
    static let page: [Parameter] = [.limit, .cursor]
}

extension Parameter {
    // MARK: Query parameters of several routes

    static let limit = Parameter(
        "limit",
        in: .query,
        .integer.range(1...200).byDefault(.integer(50)),
        "The maximum number of items."
    )
    static let cursor = Parameter("cursor", in: .query, .string.notEmpty, "`next` of the previous page.")
    static let dryRun = Parameter(
        "dryRun",
        in: .query,
        .boolean.byDefault(.bool(false)),
        "Whether to change nothing (dry run)."
    )
    static let strict = Parameter(
        "strict",
        in: .query,
        .boolean.byDefault(.bool(false)),
        "Whether a field that the provider is not known to have is an error instead of a warning."
    )

    // MARK: Preconditions

    static let ifMatch = Parameter(
        "If-Match",
        in: .header,
        as: "IfMatch",
        .entityTags,
        "The ETag that was read, or * to overwrite any version. A change without it fails with 428.",
        isRequired: true,
        example: "*"
    )
    static let ifMatchUnlessNew = Parameter(
        "If-Match",
        in: .header,
        .entityTags,
        "The ETag that was read, or * to overwrite any version. Leave it out to create the resource.",
        example: "*"
    )
    static let ifNoneMatch = Parameter(
        "If-None-Match",
        in: .header,
        as: "IfNoneMatch",
        .entityTags,
        "The known ETag: the response is 304 if it is still current."
    )
}

extension AdministrationRoute {
    /// The descriptions of the parameters in the route's path, for the OpenAPI document.
    var pathParameters: [Parameter] {
        let segments = path.split(separator: "/")
        return zip(segments, segments.dropFirst()).filter { $1.hasPrefix("{") }.map { segment, name in
            // The names and ids of several types of resources have the same parameter name.
            let key = ["{name}", "{id}"].contains(name) ? "\(segment)/\(name)" : String(name)
            guard let parameter = Self.knownInPaths[key] else { preconditionFailure("\(path): what is \(name)?") }
            return parameter
        }
    }

    private static let knownInPaths: [String: Parameter] = [
        "{application}": .init("application", in: .path, .applicationID, "The application's id."),
        "{label}": .init("label", in: .path, .string.length(1...100), "The key's label, percent-encoded."),
        "properties/{name}": .init("name", in: .path, as: "PropertyName", .propertyName, "The property's name."),
        "operators/{name}": .init("name", in: .path, as: "OperatorName", .operatorName, "The operator's name."),
        "serviceAccounts/{name}": .init(
            "name",
            in: .path,
            as: "ServiceAccountName",
            .serviceAccountName,
            "The service account's name."
        ),
        "{revision}": .init("revision", in: .path, .long.from(1), "A revision of the mapping."),
        "{objectId}": .init("objectId", in: .path, .uuid, "The user's id, in upper or lower case."),
        "{invitationId}": .init("invitationId", in: .path, .uuid, "The invitation's id, in upper or lower case."),
        "{factorId}": .init("factorId", in: .path, .uuid, "The id of a second factor."),
        "{role}": .init("role", in: .path, .string.notEmpty, "One of the setting `roles`."),
        "{template}": .init("template", in: .path, .string.notEmpty, "A template from GET mails."),
        "{sessionId}": .init(
            "sessionId",
            in: .path,
            .string.notEmpty,
            "The id of a session from the user's sessions. It is not the session's token."
        ),
        "{provider}": .init(
            "provider",
            in: .path,
            .string.pattern("^[a-z][a-z0-9-]{0,31}$").examples("facebook"),
            "The name of the provider in the application."
        ),
        "{appId}": .init(
            "appId",
            in: .path,
            .string.pattern("^[A-Za-z0-9_./:-]{1,255}$"),
            "The app at the provider. `global` for Twitter, whose subjects are the same in all apps."
        ),
        "{subject}": .init("subject", in: .path, .subject, "The user's id at the provider."),
        "sessions/{id}": .init(
            "id",
            in: .path,
            .string.pattern("^([0-9a-f]{16}|current)$"),
            "The id of a console session, or `current` for the session of this request."
        ),
        "tokens/{id}": .init("id", in: .path, .tokenID, "The id of a token from the operator's tokens."),
        "{file}": .init("file", in: .path, .sha256, "The SHA-256 of the file, as hexadecimal digits."),
    ]
}

extension Schema {
    // MARK: Reused patterns

    static let applicationID = string.pattern("^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")
    static let propertyName = string.pattern("^[A-Za-z][A-Za-z0-9_]{0,62}$")
    static let operatorName = string.pattern("^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$")
    static let operatorRole = cases(of: OperatorRole.self)
    static let providerName = string.pattern("^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$")
    static let tokenID = string.pattern("^[0-9a-f]{16}$")
    /// The schema of a subject, which is the id of a user at a provider.
    static let subject = string.pattern("^[!-~]{1,255}$")
    static let sha256 = string.pattern("^[0-9a-f]{64}$")
    static let entityTag = string.pattern(#"^"[!#-~]*"$"#)
    static let entityTags = string.pattern(#"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$"#)

    /// The schema of objects whose keys are property names.
    var propertyNames: Schema { keyed(by: .propertyName) }

    /// The schema of objects whose keys are provider names.
    var providerNames: Schema {
        keyed(by: .providerName.rule("not", .object(["const": .string("password")])))
    }

    // MARK: Lists

    /// Returns the schema of a page of a list.
    static func page(of item: Schema, as name: String? = nil) -> Schema {
        part(of: item, next: "The cursor of the next page; null on the last.")
            .named(name ?? item.name + "Page")
    }

    /// Returns the schema of a list that a response contains as a whole.
    ///
    /// `next` describes the member `next`, which is null because no further page exists.
    static func list(of item: Schema, next: String = "Always null: the list is complete.") -> Schema {
        part(of: item, next: next).named(item.name + "List")
    }

    private static func part(of item: Schema, next: String) -> Schema {
        object(["items": .array(of: item), "next": .string.nullable.described(next)])
    }

    private var name: String {
        guard let definition else { preconditionFailure("What a list is of has a name.") }
        return definition.name
    }
}
