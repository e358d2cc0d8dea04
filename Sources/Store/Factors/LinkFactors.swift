import FoundationEssentials
import Postgres
package import Vocabulary

// Who sets a password by a link has read a mail, which is one factor. A reversal gives an account back to whom it was
// taken from: the factors are asked for that were there before the change, also those that were taken away since, and
// what was enrolled since is the thief's.

extension Store {
    /// The factors that whoever sets a password by a link may be asked for, from the oldest on; nil when nobody is
    /// asked.
    package func factors(
        ofLink tokenHash: [UInt8],
        for purpose: EmailTokenPurpose,
        in application: Application
    ) async throws(Failure) -> [StoredFactor]? {
        let standing = application.settings.secondFactor.askedFor.map(\.rawValue)
        guard !standing.isEmpty else { return nil }
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
        let factors = try read { () throws(PostgresError) in
            var factors: [StoredFactor] = []
            for row in result.rows {
                if let factor = try StoredFactor(row) { factors.append(factor) }
            }
            return factors
        }
        return factors.contains { standing.contains($0.kind.rawValue) } ? factors : nil
    }
}

extension PostgresConnection {
    /// Uses up the factor that the owner of a locked account has shown for a link, or makes sure that none is asked
    /// for.
    ///
    /// - Parameters:
    ///   - proof: What was shown; nil where nothing was.
    ///   - user: Whose link it is.
    ///   - moment: When a reversal's link was made: a factor counts that was there by then; nil for other links.
    ///   - application: Whose user it is.
    /// - Throws: `second_factor_required`; `pending_sign_in_invalid` when what was shown has been used.
    func takeFactor(
        _ proof: FactorProof?,
        of user: ObjectID,
        at moment: Timestamp?,
        in application: Application
    ) async throws {
        typealias Shown = FactorProof?
        let owner = Parameter<Shown>("owner", as: "uuid") { _ in .uuid(user.uuid) }
        let before = Parameter<Shown>("moment", as: "timestamptz") { _ in
            moment.map(Bind.timestamp) ?? .null(.timestamp)
        }
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
