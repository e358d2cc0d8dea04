package import Applications
package import Domain
package import Encodings
package import Logging
import Mapping
package import Messaging
package import Secrets
package import Store

/// Merges two users into one, and undoes merges.
///
/// The mail about a merge has a link that undoes it.
package struct AccountMerges: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let notices: Notices
    let events: EventLog

    package init(store: Store, masterKeys: MasterKeys, notices: Notices, events: EventLog) {
        self.store = store
        self.masterKeys = masterKeys
        self.notices = notices
        self.events = events
    }
}

extension AccountMerges {
    /// Returns what a merge would make of two users; nothing changes.
    ///
    /// - Throws: `not_found` unless both users exist; `malformed_request` if they are one, or for contradictory rules.
    package func preview(
        of merged: ObjectID,
        into survivor: ObjectID,
        by rules: MergeRules,
        in loaded: LoadedApplication
    ) async throws(Failure) -> UserPair {
        guard merged != survivor else { throw .oneUser }
        return try await store.mergePreview(
            of: merged,
            into: survivor,
            by: try await resolved(rules, of: merged, in: loaded),
            in: loaded.application
        )
    }

    /// Merges two users.
    ///
    /// - Parameters:
    ///   - merged: The user who becomes a part of the survivor.
    ///   - survivor: The user who stays.
    ///   - rules: Whose value the survivor gets for each property.
    ///   - proof: Why both accounts count as those of one human.
    ///   - loaded: The application.
    ///   - actor: The author, for the audit log.
    ///   - check: Is called with both users as they are before the merge; its errors are rethrown.
    /// - Returns: Both users before the merge, with its plan.
    /// - Throws: The errors of `preview`, and those of `Store.merge`. Nothing has changed then.
    package func merge(
        _ merged: ObjectID,
        into survivor: ObjectID,
        by rules: MergeRules,
        provedBy proof: UserMerge.Proof,
        in loaded: LoadedApplication,
        by actor: ChangeAuthor,
        check: @escaping @Sendable (UserPair) throws -> Void = { _ in }
    ) async throws(Failure) -> UserPair {
        let before = try await preview(of: merged, into: survivor, by: rules, in: loaded)
        let announcements = try await announcements(to: before.survivor.user, and: before.merged.user, in: loaded)
        let merge = UserMerge(
            of: merged,
            into: survivor,
            by: try await resolved(rules, of: merged, in: loaded),
            provedBy: proof,
            announcing: announcements
        )
        return try await store.merge(
            merge,
            with: masterKeys.cipher(of: loaded.application.id),
            in: loaded.application,
            by: actor,
            check: check
        )
    }

    /// Replaces the rule `sync` by the rule that follows from the mappings of the merged user's providers.
    ///
    /// A property that a login always overwrites is taken, since the next login would write it anyway. Every other
    /// property is only filled.
    private func resolved(
        _ rules: MergeRules,
        of merged: ObjectID,
        in loaded: LoadedApplication
    ) async throws(Failure) -> MergeRules {
        guard rules.general == .sync || rules.properties.contains(where: { $0.rule == .sync }) else { return rules }
        let stored = try await store.storedUser(merged, of: loaded.application)
        var overwritten: [String] = []
        for provider in Set((stored?.identities ?? []).compactMap { ProviderName($0.provider) }) {
            // The login name belongs to the password, and a confirmed address to its owner, whatever a login writes.
            let identity = loaded.application.settings.identityProperty
            for entry in loaded.storedMappings[provider]?.entries ?? [] where entry.sync == .always {
                if entry.to != identity, entry.to != .email { overwritten.append(entry.to.text) }
            }
        }
        return rules.resolved(overwritten: overwritten)
    }

    private func announcements(
        to survivor: User,
        and merged: User,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (survivor: Announcement, merged: Announcement)? {
        func announcement(to user: User) async throws(Failure) -> Announcement? {
            try await notices.announcement(to: user, in: loaded, undoneBy: .mergeReversal) { link, days in
                .accountsMerged(link: link, days: days, name: user.name)
            }
        }
        guard let first = try await announcement(to: survivor), let second = try await announcement(to: merged) else {
            return nil
        }
        return (first, second)
    }
}

extension AccountMerges {
    /// Undoes a merge by the link in a mail about it.
    ///
    /// - Throws: `link_invalid`; `conflict` if the merge cannot be undone any more; `constraint_violation` if a unique
    ///   value of the merged user is taken by now. The link stays valid after every error.
    package func undoMerge(
        byLink token: String,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        guard let token = OneTimeToken(received: token) else { throw .linkInvalid }
        let undone = try await events.logging("merge undone", of: loaded, logger, user: \.survivor) {
            () async throws(Failure) in
            let undone = try await store.undoMerge(
                by: .link(tokenHash: token.hash),
                with: masterKeys.cipher(of: loaded.application.id),
                in: loaded.application,
                by: { ChangeAuthor(name: "user:\($0)", source: "merge undone") }
            )
            guard let undone else { throw Failure.linkInvalid }
            return undone
        }
        do throws(Failure) {
            try await notify(of: undone, in: loaded)
        } catch {
            logger.warning("a notice could not be sent", metadata: ["reason": "\(error.reason.rawValue)"])
        }
    }

    /// Undoes a merge for an operator.
    ///
    /// - Throws: `not_found` if no such user was merged; `conflict` and `constraint_violation` as for a link.
    package func undoMerge(
        of merged: ObjectID,
        because reason: String,
        in loaded: LoadedApplication,
        by actor: ChangeAuthor
    ) async throws(Failure) -> UndoneMerge {
        let undone = try await store.undoMerge(
            by: .operatorOf(merged: merged, reason: reason),
            with: masterKeys.cipher(of: loaded.application.id),
            in: loaded.application,
            by: { _ in actor }
        )
        guard let undone else { throw .noSuchUser }
        try await notify(of: undone, in: loaded)
        return undone
    }

    private func notify(of undone: UndoneMerge, in loaded: LoadedApplication) async throws(Failure) {
        for id in [undone.survivor, undone.merged] {
            guard let user = try await store.storedUser(id, of: loaded.application)?.user else { continue }
            let told = try await notices.notices(of: .accountsSeparated(name: user.name), to: user, in: loaded)
            try await store.enqueue(told, to: id, of: loaded.application)
        }
    }
}

extension MergeRules {
    /// Reads the rules from a request: `{"rule"?: word, "properties"?: {name: word}}`.
    ///
    /// The words are those of ``MergeRule``. Without a general rule it is `fill`.
    ///
    /// - Throws: `malformed_request`.
    package init(_ object: JSONObject) throws(Failure) {
        func rule(_ value: JSONValue, _ name: String) throws(Failure) -> MergeRule {
            guard let rule = value.string.flatMap({ MergeRule(rawValue: $0) }) else {
                let words = MergeRule.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure(.malformedRequest, "\(name) must be one of: \(words).")
            }
            return rule
        }
        let general = try object.present("rule").map { (value) throws(Failure) in try rule(value, "rule") }
        var properties: [(name: String, rule: MergeRule)] = []
        if let given = object.present("properties") {
            guard let members = given.object?.members else {
                throw Failure(.malformedRequest, "properties must be an object: {\"name\": \"take\"}.")
            }
            for member in members {
                guard let name = PropertyName(member.key) else {
                    throw Failure(.malformedRequest, "properties has a member whose name is no name of a property.")
                }
                properties.append((name.text, try rule(member.value, "The rule of \(name.text)")))
            }
        }
        self.init(general: general ?? .fill, properties: properties)
    }
}

extension Failure {
    static let oneUser = Failure(
        .malformedRequest,
        "Both are the same user. A merge needs two."
    )
}
