package import Domain
import FoundationEssentials
import Postgres

// A user who sets a password by a mailed link has shown one factor: access to the mailbox. The link asks for a second
// one.
//
// A reversal gives an account back to its former owner. It asks for the factors that existed before the change,
// including those that were removed since. It ignores factors that were enrolled since, because a thief may have
// enrolled them.

extension Store {
    /// Returns the second factors of which a user must present one to set a password by a mailed link, the oldest
    /// first.
    ///
    /// The result is nil if the link requires no factor.
    package func factors(
        ofLink tokenHash: [UInt8],
        for purpose: EmailTokenPurpose,
        in application: Application
    ) async throws(Failure) -> [StoredFactor]? {
        let standing = application.settings.secondFactor.askedFor.map(\.rawValue)
        // The link that undoes a merge opens no account, and changes no password.
        guard !standing.isEmpty, purpose != .mergeReversal else { return nil }
        let wasThere: Statement =
            purpose == .reversal
            ? "f.created < e.created and (f.removed is null or f.removed >= e.created)" : "f.removed is null"
        let result = try await query(
            """
            select \(unsafeRaw: StoredFactor.columns)
            from \(identifier: application.schema).email_proofs e
                join \(identifier: application.schema).factors f on f.object_id = e.object_id
            where \(Self.counts(tokenHash, purpose)) and \(wasThere)
            order by f.created, f.kind = 'recoveryCode', f.id
            """,
            of: application
        )
        let factors = try result.all(by: StoredFactor.init)
        return factors.contains { standing.contains($0.kind.rawValue) } ? factors : nil
    }
}

extension PostgresConnection {
    /// Uses up the second factor that a user has presented with a mailed link.
    ///
    /// If the user has presented none, checks that the link requires none.
    ///
    /// - Parameters:
    ///   - proof: The presented factor; nil if there is none.
    ///   - user: The user to whom the link belongs. The user's row must be locked.
    ///   - moment: The creation time of a reversal link, which asks for the factors that existed then; nil for other
    ///     links.
    ///   - application: The user's application.
    /// - Throws: `second_factor_required`; `pending_login_invalid` if the presented factor has been used.
    func takeFactor(
        _ proof: FactorProof?,
        of user: ObjectID,
        at moment: Timestamp?,
        in application: Application
    ) async throws {
        typealias Shown = FactorProof?
        let owner = Parameter<Shown>("owner", as: "uuid") { _ in .uuid(user.uuid) }
        let before = Parameter<Shown>("moment", as: "timestamptz") { _ in Bind(moment) }
        let wasThere: SQL<Shown> =
            moment == nil
            ? "f.removed is null" : "f.created < \(before) and (f.removed is null or f.removed >= \(before))"
        guard proof != nil else {
            guard application.settings.secondFactor.demand != .off else { return }
            let asked = FactorStep<Shown>.hasFactor("\(owner)", if: wasThere, in: application)
            let text: SQL<Shown> = "select where \(asked)"
            guard try await query(text.bound(to: nil)).count == 0 else { throw FactorDemand.factor.failure }
            return
        }
        let step = FactorStep<Shown>(finishing: application, by: .shown, user: "\(owner)", proof: { $0 })
        let text: SQL<Shown> = """
            with \(step.expressions(if: [], isThere: wasThere)), person as (
                select factor.id from factor
            ), \(step.forgiving)
            select from factor
            """
        guard try await query(text.bound(to: proof)).count == 1 else { throw FactorDemand.unusable.failure }
    }
}
