import Accounts
import Applications
package import Domain
package import Encodings
import Store

/// Merges users for operators, and undoes merges.
extension UserAdministration {
    /// The length of a reason in bytes.
    package static let mergeReasons = 1...500

    /// Merges a user into another one, or tells what a merge would do.
    ///
    /// The document is `{"merged": objectId, "reason": text, "rule"?: word, "properties"?: {name: word}}`; see
    /// ``Domain/MergeRules``. `reason` may be absent in a dry run.
    ///
    /// - Parameters:
    ///   - survivor: The id of the user who stays.
    ///   - application: The application of the users.
    ///   - document: The merged user, the reason and the rules.
    ///   - isDryRun: Whether nothing is to be changed.
    ///   - precondition: The expected state of the survivor.
    ///   - actor: The operator.
    /// - Returns: `{"dryRun", "survivor": id, "merged": id, "userStatus", "password": "none" | "kept" | "taken",
    ///   "properties": {name: {"survivor", "merged", "result"}}}`.
    /// - Throws: `malformed_request`, `not_found`, `precondition_failed`, `conflict`, `constraint_violation`.
    package func merge(
        into survivor: String,
        of application: String,
        by document: JSONValue,
        isDryRun: Bool,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        guard let object = document.object, let merged = object["merged"]?.string.flatMap({ ObjectID($0) }) else {
            throw Failure(.malformedRequest, "merged must be the objectId of the user to be merged.")
        }
        let rules = try MergeRules(object)
        guard let survivor = ObjectID(survivor) else { throw .noSuchUser }
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let pair: UserPair
        if isDryRun {
            pair = try await merges.preview(of: merged, into: survivor, by: rules, in: loaded)
            for user in [survivor, merged] {
                try await store.recordReading(.read, of: user, in: loaded.application.id, by: actor)
            }
        } else {
            pair = try await merges.merge(
                merged,
                into: survivor,
                by: rules,
                provedBy: .operatorsReason(try Self.reason(in: object)),
                in: loaded,
                by: actor
            ) { try precondition.check($0.survivor.tag) }
        }
        let preview = MergePreview(of: pair.survivor.user, and: pair.merged.user, by: pair.plan)
        return .object([
            "dryRun": .bool(isDryRun),
            "survivor": .string(preview.survivor.description),
            "merged": .string(preview.merged.description),
            "userStatus": .string(pair.plan.status.rawValue),
            "password": .string(preview.password.rawValue),
            "properties": .object(JSONObject(preview.properties.map { .init($0.name, $0.json) })),
        ])
    }

    /// Undoes the merge of a user: the user exists again.
    ///
    /// The document is `{"reason": text}`.
    ///
    /// - Returns: `{"survivor": id, "merged": id, "password": true | false | null}`; `password` says whether the merged
    ///   user has its password again, `null` if it had none.
    /// - Throws: `malformed_request`; `not_found` if no such user was merged; `conflict` if the merge cannot be undone
    ///   any more; `constraint_violation`.
    package func undoMerge(
        of merged: String,
        in application: String,
        by document: JSONValue,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let reason = try Self.reason(in: document.object ?? [:])
        guard let merged = ObjectID(merged) else { throw .noSuchUser }
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let undone = try await merges.undoMerge(of: merged, because: reason, in: loaded, by: actor)
        return .object([
            "survivor": .string(undone.survivor.description), "merged": .string(undone.merged.description),
            "password": undone.hasPassword.map(JSONValue.bool) ?? .null,
        ])
    }

    /// Returns the users who were merged into a user, the latest first, at most 100.
    ///
    /// Each is `{"objectId", "merged": milliseconds, "undoUntil": milliseconds or null}`; a merge without `undoUntil`
    /// cannot be undone any more.
    package func mergedUsers(into survivor: String, of application: String) async throws(Failure) -> Page {
        let owner = try await owner(application)
        let stored = try await storedUser(survivor, of: owner)
        let merged = try await store.mergedUsers(into: stored.user.objectID, in: owner)
        return Page(
            items: merged.map { user in
                .object([
                    "objectId": .string(user.objectID.description), "merged": .integer(user.merged),
                    "undoUntil": user.undoUntil.map(JSONValue.integer) ?? .null,
                ])
            },
            next: nil
        )
    }

    private static func reason(in object: JSONObject) throws(Failure) -> String {
        guard let reason = object["reason"]?.string, mergeReasons.contains(reason.utf8.count) else {
            throw Failure(
                .malformedRequest,
                "reason must say why, for the audit log, in 1 to \(mergeReasons.upperBound) bytes."
            )
        }
        return reason
    }
}
