package import Applications
package import Domain
package import Logging
package import Logins
import Store

/// Which of two users survives when the user of both merges them.
package enum MergeSurvivor: String, Sendable, CaseIterable {
    /// The user who was created first.
    case older
    /// The user of the session that sends the request.
    case asking = "this"
    case other
}

/// Merges two accounts of one human, who has a fresh session of each.
package struct OwnMerges: Sendable {
    let sessions: Sessions
    let merges: AccountMerges

    package init(sessions: Sessions, merges: AccountMerges) {
        self.sessions = sessions
        self.merges = merges
    }

    /// Returns what a merge of the users of two sessions would make of them; nothing changes.
    ///
    /// - Throws: `session_invalid`, `account_disabled`; `malformed_request` for two sessions of one user, or for
    ///   contradictory rules.
    package func preview(
        ofSession asking: SessionKey?,
        and other: SessionKey?,
        keeping survivor: MergeSurvivor,
        by rules: MergeRules,
        in loaded: LoadedApplication
    ) async throws(Failure) -> MergePreview {
        let (asking, other) = (try await sessions.user(of: asking, in: loaded), try await self.other(other, in: loaded))
        let (kept, merged) = try survivor.choose(asking: asking, other: other)
        let pair = try await merges.preview(
            of: merged.objectID,
            into: kept.objectID,
            by: rules.filling(serversPropertiesOf: loaded.application),
            in: loaded
        )
        return MergePreview(of: pair.survivor.user, and: pair.merged.user, by: pair.plan)
    }

    /// Merges the users of two sessions.
    ///
    /// Both sessions must be fresh: each user must have authenticated within the last five minutes, with a second
    /// factor if the account has one. The session that sends the request stays valid, for the survivor.
    ///
    /// - Parameters:
    ///   - asking: The token of the session that sends the request.
    ///   - other: The token of a session of the other user.
    ///   - survivor: Which of the two users survives.
    ///   - rules: Whose value the survivor gets for each property.
    ///   - loaded: The application.
    ///   - logger: Gets one line.
    /// - Returns: The survivor after the merge, and the id of the merged user.
    /// - Throws: The errors of `preview`; `reauthentication_required`, `second_factor_reauthentication_required`,
    ///   `conflict`. Nothing has changed then.
    package func merge(
        ofSession asking: SessionKey?,
        and other: SessionKey?,
        keeping survivor: MergeSurvivor,
        by rules: MergeRules,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> (survivor: User, merged: ObjectID) {
        let (first, token) = try await sessions.session(of: asking, in: loaded)
        let second = try await self.other(other, in: loaded)
        let (kept, merged) = try survivor.choose(asking: first, other: second)
        let proof = UserMerge.Sessions(
            asking: token.hash,
            other: other?.hash ?? [],
            seconds: Sessions.reauthenticationSeconds
        )
        _ = try await merges.events.logging("merge", of: loaded, logger, user: \.survivor.user.objectID) {
            () async throws(Failure) in
            try await merges.merge(
                merged.objectID,
                into: kept.objectID,
                by: rules.filling(serversPropertiesOf: loaded.application),
                provedBy: .sessions(proof),
                in: loaded,
                by: ChangeAuthor(name: "user:\(first.objectID)", source: "merge")
            )
        }
        return (try await sessions.user(of: asking, in: loaded), merged.objectID)
    }

    private func other(_ token: SessionKey?, in loaded: LoadedApplication) async throws(Failure) -> User {
        do throws(Failure) {
            return try await sessions.user(of: token, in: loaded)
        } catch {
            guard error.reason == .sessionInvalid else { throw error }
            throw Failure(
                .sessionInvalid,
                "userToken is no token of a live session. Log in to the other account, and send its token."
            )
        }
    }
}

extension MergeSurvivor {
    /// Chooses between two users.
    ///
    /// Of two users of the same age, the one of the request survives.
    fileprivate func choose(asking: User, other: User) throws(Failure) -> (kept: User, merged: User) {
        guard asking.objectID != other.objectID else { throw .oneUser }
        return switch self {
        case .asking: (asking, other)
        case .other: (other, asking)
        case .older: other.created < asking.created ? (other, asking) : (asking, other)
        }
    }
}

extension MergeRules {
    /// Returns these rules, but with `fill` for the properties that only servers see.
    ///
    /// A user must not choose between two values that the user cannot see.
    fileprivate func filling(serversPropertiesOf application: Application) -> MergeRules {
        let hidden = application.properties.filter { $0.visibleTo == .server }
        return MergeRules(general: general, properties: hidden.map { ($0.name.text, .fill) } + properties)
    }
}
