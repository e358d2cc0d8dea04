import Accounts
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The route by which a user makes two accounts of their own one.
struct MergeRoutes {
    let merges: OwnMerges

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/merge", .mergeUsers) { request, context, application in
            // Only JSON is accepted. A form of another site cannot send the header `user-token` (T-41).
            let body = try await request.jsonObject()
            let other = try body.text("userToken").flatMap { SessionToken(received: $0)?.key }
            let survivor = try Self.survivor(in: body)
            let rules = try MergeRules(body)
            guard try !body.flag("preview") else {
                let preview = try await merges.preview(
                    ofSession: request.userSession,
                    and: other,
                    keeping: survivor,
                    by: rules,
                    in: application
                )
                return .json(Self.write(preview))
            }
            let (user, merged) = try await merges.merge(
                ofSession: request.userSession,
                and: other,
                keeping: survivor,
                by: rules,
                in: application,
                logger: context.logger
            )
            // The hyphen keeps the name apart from those of properties.
            return .json(UserReply.write(user, adding: ["merged-user": .string(merged.description)]))
        }
    }

    private static func survivor(in body: JSONObject) throws(Failure) -> MergeSurvivor {
        guard let text = try body.text("keep") else { return .older }
        guard let survivor = MergeSurvivor(rawValue: text) else {
            let words = MergeSurvivor.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(.malformedRequest, "keep must be one of: \(words).")
        }
        return survivor
    }

    /// Writes a preview, without the properties that only servers see.
    private static func write(_ preview: MergePreview) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.member("survivor", preview.survivor.description)
            writer.member("merged", preview.merged.description)
            writer.member("password", preview.password.rawValue)
            let properties = preview.properties.filter { $0.visibleTo != .server }
            writer.member("properties", .object(JSONObject(properties.map { .init($0.name, $0.json) })))
        }
        return writer
    }
}

extension Operation {
    fileprivate static let mergeUsers = Operation(
        "mergeUsers",
        under: "user",
        "Merges the users of two sessions into one.",
        more: """
            Both need an authentication within the last five minutes, and a second factor if the account has one. The \
            survivor gets the login methods, second factors and roles of both. The session of this request stays \
            valid; all others end. A mail to both addresses has a link that undoes the merge for seven days. With \
            preview, nothing changes.
            """,
        marks: .session,
        body: Content(
            .anyObject.adding(
                ["userToken": .string.described("The token of a session of the other account.")],
                optional: [
                    "keep": .cases(of: MergeSurvivor.self).described(
                        "Which user survives: the older one (the default), the one of this request, or the other."
                    ),
                    "rule": .mergeRule, "properties": .mergeRules,
                    "preview": .boolean.described("Only tells what the merge would do."),
                ]
            ),
            examples: ["merge": #"{"userToken": "…", "properties": {"phone": "take"}}"#]
        ),
        .success(
            "The survivor with the id of the merged user, or the preview.",
            .either([
                Schema.user.adding(optional: ["merged-user": .uuid]),
                .object([
                    "survivor": .uuid, "merged": .uuid, "password": .mergedPassword, "properties": .mergedProperties,
                ]).named("MergePreview"),
            ])
        ),
        or: [.badRequest, .forbidden, .conflict, .unprocessable]
    )
}
