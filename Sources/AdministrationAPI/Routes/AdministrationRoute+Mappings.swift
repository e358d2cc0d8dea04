import Administration
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes

extension AdministrationRoute {
    static let mappings: [AdministrationRoute] = {
        let mapping = "applications/{application}/mappings/{provider}"
        return [
            .init(
                .get,
                mapping,
                .viewer,
                Operation("readMapping", "The active mapping.", .resource(.mapping, "The mapping."))
            ) { call in
                .resource(try await call.administration.mappings.read(for: call.provider, of: call["application"]))
            },
            .init(
                .put,
                mapping,
                .editor,
                query: [.strict],
                Operation(
                    "putMapping",
                    "Creates a new revision and activates it.",
                    more: "All problems are returned at once, each with its place and entry.",
                    parameters: [.ifMatch],
                    body: Content(
                        .mappingDocument,
                        examples: [
                            "two": #"""
                            {"entries": [{"from": "email", "to": "email"}, {"from": "birthday", "to": "birthday",
                            "sync": "firstLogin"}]}
                            """#
                        ]
                    ),
                    .resource(.mapping, "The mapping after the change."),
                    or: [.conflict]
                )
            ) { call in
                .resource(
                    try await call.administration.mappings.put(
                        for: call.provider,
                        of: call["application"],
                        call.document(),
                        strictly: call.flag(.strict),
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(
                .get,
                mapping + "/revisions",
                .viewer,
                query: .page,
                Operation(
                    "listMappingRevisions",
                    "Lists revisions of the mapping, newest first.",
                    .page(of: .mappingRevisionSummary, as: "MappingRevisionPage", "A page of revisions.")
                )
            ) { call in
                .page(
                    try await call.administration.mappings.revisions(
                        for: call.provider,
                        of: call["application"],
                        call.page
                    )
                )
            },
            .init(
                .get,
                mapping + "/revisions/{revision}",
                .viewer,
                Operation("readMappingRevision", "One revision.", .resource(.mappingRevision, "The revision."))
            ) { call in
                guard let revision = revision(call["revision"]) else {
                    throw Failure(.notFound, "The mapping does not have this revision.")
                }
                return .resource(
                    try await call.administration.mappings.revision(
                        revision,
                        for: call.provider,
                        of: call["application"]
                    )
                )
            },
            .init(
                .get,
                mapping + "/diff",
                .viewer,
                query: [.from, .to],
                Operation(
                    "compareMappingRevisions",
                    "Compares two revisions.",
                    .value(.mappingDifference, "The differences, by the property that the entries write.")
                )
            ) { call in
                guard let from = try call.query.integer(.from), let to = try call.query.integer(.to) else {
                    throw Failure(.malformedRequest, "from and to must be revisions.")
                }
                return .value(
                    try await call.administration.mappings.difference(
                        from: from,
                        to: to,
                        for: call.provider,
                        of: call["application"]
                    )
                )
            },
            .init(
                .post,
                mapping + "/rollback",
                .editor,
                Operation(
                    "rollBackMapping",
                    "Restores an earlier revision as a new one.",
                    parameters: [.ifMatch],
                    body: Content(.rollback, examples: ["one": #"{"revision": 1}"#]),
                    .resource(.mapping, "The mapping after the change."),
                    or: [.conflict]
                )
            ) { call in
                let document = try await call.document()
                guard let object = document.object, object.members.count == 1,
                    let revision = object["revision"]?.integer
                else {
                    let place = JSONPointer() / "revision"
                    throw DocumentProblems(place, "must be a whole number, and the only member of an object").failure
                }
                return .resource(
                    try await call.administration.mappings.rollBack(
                        for: call.provider,
                        of: call["application"],
                        to: revision,
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(
                .get,
                mapping + "/fields",
                .viewer,
                Operation(
                    "listProfileFields",
                    "Lists the fields of the provider, with permissions and an example profile.",
                    .value(.profileFields, "All known paths, and a profile with all of them.")
                )
            ) { call in
                .value(
                    try await call.administration.mappingPreviews.fields(of: call.provider, in: call["application"])
                )
            },
            .init(
                .post,
                mapping + "/preview",
                .viewer,
                Operation(
                    "previewMapping",
                    "Previews what a login would write. Writes nothing.",
                    body: Content(
                        .previewRequest,
                        examples: [
                            "profile": #"""
                            {"profile": {"id": "10223456789012345", "email": "ann@example.com"}, "scopes":
                            ["email"]}
                            """#,
                            "token": #"{"accessToken": "EAAB0token"}"#,
                        ]
                    ),
                    .value(.preview, "The outcome, entry by entry."),
                    or: [.timeout]
                )
            ) { call in
                .value(
                    try await call.administration.mappingPreviews.preview(
                        for: call.provider,
                        of: call["application"],
                        call.document(),
                        by: call.actor
                    )
                )
            },
        ]
    }()

    private static func revision(_ text: String) -> Int64? {
        text.utf8.count <= 19 && text.utf8.allSatisfy(\.isASCIIDigit) ? Int64(text) : nil
    }
}

extension Parameter {
    static let from = Parameter("from", in: .query, .long.from(1), "The revision to compare from.", isRequired: true)
    static let to = Parameter("to", in: .query, .long.from(1), "The revision to compare to.", isRequired: true)
}

extension Schema {
    static let mapping = mappingRevision.without("active").adding([
        "warnings": .strings.described("Entries that read a field which the provider is not known to have.")
    ]).named("Mapping")

    static let mappingDocument = Schema.object(
        ["entries": .array(of: .entry).count(upTo: 256)],
        optional: [
            "revision": .long,
            "active": .boolean,
            "created": .moment,
            "author": .string.nullable,
            "warnings": .strings,
        ]
    ).described(
        """
        A mapping or a revision as it is read; only the member `entries` is used. The list of entries alone is also \
        accepted, and in both places a dictionary of fields and properties.
        """
    ).named("MappingDocument")

    static let mappingRevision = mappingRevisionSummary.adding(["entries": .array(of: .entry)])
        .named("MappingRevision")

    static let mappingRevisionSummary = Schema.object([
        "revision": .long,
        "active": .boolean,
        "created": .moment,
        "author": .string.nullable,
    ]).named("MappingRevisionSummary")

    static let profileFields = Schema.object([
        "fields": .array(
            of: .object([
                "path": .string.examples("picture.data.url"),
                "permission": .string.nullable.described("The permission for the field. null: none needed."),
                "holds": .string.described("The kind of value, in words."),
                "sample": .any.described("The value in the profile."),
            ])
        ),
        "profile": .anyObject.described("An example profile with every field."),
    ]).named("ProfileFields")

    static let mappingDifference = Schema.object([
        "from": .integer,
        "to": .integer,
        "added": .array(of: .entry),
        "removed": .array(of: .entry),
        "changed": .array(
            of: .object([
                "to": .propertyName,
                "from": .entry,
                "into": .entry,
            ])
        ),
    ]).named("MappingDifference")

    static let rollback = Schema.object(["revision": .long.from(1)]).named("Rollback")

    static let previewRequest = Schema.object(optional: [
        "profile": .anyObject.nullable.described(
            "A profile as the provider sends it: a Graph user, or a user object of Twitter."
        ),
        "scopes": .strings.count(upTo: 100).nullable.described(
            "The granted permissions. Only for `profile`."
        ),
        "accessToken": .string.nullable.described(
            "Instead of `profile`: a valid token, with which the profile is read."
        ),
        "accessTokenSecret": .string.nullable.described(
            "For a token of Twitter, unless that is `token:secret`."
        ),
        "appId": .string.nullable.described("The application's app of the token."),
        "mapping": .array(of: .entry).nullable.described(
            "A mapping to test instead of the stored one. A dictionary of fields and properties is also accepted."
        ),
        "fieldsMapping": .dictionary(of: .string).nullable.described(
            "The client's mapping. The object as a text is also accepted."
        ),
        "user": .uuid.nullable.described("The objectId of an existing user."),
    ]).named("PreviewRequest")

    static let preview = Schema.object(
        [
            "fields": .string,
            "missingPermissions": .strings,
            "warnings": .strings.described("Entries that read a field which the provider is not known to have."),
            "created": .boolean,
            "entries": .array(
                of: .object(
                    [
                        "mapping": .oneOf("stored", "client"),
                        "position": .integer.from(0),
                        "from": .string,
                        "to": .string,
                        "type": .propertyType,
                        "sync": .synchronisation,
                        "outcome": .oneOf(
                            "written",
                            "unchanged",
                            "defaulted",
                            "cleared",
                            "skipped",
                            "missing",
                            "leftOut",
                            "refused"
                        ),
                        "why": .string,
                    ],
                    optional: [
                        "value": .any,
                        "current": .any,
                        "field": .string,
                        "permission": .string,
                        "warning": .string.described("A field that the provider is not known to have."),
                        "leftOut": .leftOut.described("Why the value of the profile is left out."),
                    ]
                )
            ),
        ],
        optional: [
            "refusal": .object([
                "reason": .reason,
                "message": .string,
            ]).open.described("The error of the login. Absent if it would succeed.")
        ]
    ).named("Preview")
}
