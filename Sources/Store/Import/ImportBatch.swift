package import Domain
package import Encodings

/// A user of another system, to be imported.
package struct ImportRow: Sendable {
    /// The number of the record in the file.
    package let record: Int
    /// The line of the file on which the record begins.
    package let line: Int
    package let objectID: ObjectID
    package var status = UserStatus.enabled
    package var emailVerified = false
    /// The name, in client SDKs, of the provider by which the user registered; nil for a user without a provider.
    package var socialAccount: String?
    /// The time of creation in milliseconds since 1970 UTC, like `updated` and `lastLogin`.
    package var created: Int64?
    package var updated: Int64?
    package var lastLogin: Int64?
    package var given = GivenProperties()
    package var password: StoredPassword?
    /// Whether the file has a password hash of the user.
    ///
    /// If not, nobody knows the password in `password`.
    package var hasHash = false
    package var identities: [(key: IdentityKey, created: Int64?)] = []
    package var roles: [String] = []
    /// The id of the user for clients of Firebase; nil if the file has none.
    package var uid: FirebaseUID?
    /// The custom claims of the user's ID tokens; nil if the file has none.
    package var claims: CustomClaims?

    package init(record: Int, line: Int, objectID: ObjectID) {
        self.record = record
        self.line = line
        self.objectID = objectID
    }
}

/// Why a record was not imported, or what a comparison found about it; without any of its values.
package struct RecordFinding: Sendable, Equatable {
    package let record: Int
    package let line: Int
    package let reason: String
    package let message: String

    package init(record: Int, line: Int, reason: String, message: String) {
        self.record = record
        self.line = line
        self.reason = reason
        self.message = message
    }
}

/// Records of a file that are processed together: all of them, or none.
///
/// No two rows share an id, a uid, a login name or an identity. So only a row in the database can have taken one of
/// these values, never another row of the batch.
package struct ImportBatch: Sendable {
    /// The number of records of the file that precede this batch.
    package let before: Int
    /// The number of records of the file up to the last record of this batch.
    package let through: Int
    /// The records to import, in the order of the file.
    package let rows: [ImportRow]
    package let refusals: [RecordFinding]

    package init(before: Int, through: Int, rows: [ImportRow], refusals: [RecordFinding]) {
        self.before = before
        self.through = through
        self.rows = rows
        self.refusals = refusals
    }

    /// Two batches that together have the records of this batch; nil if this batch has at most one row.
    var halves: (ImportBatch, ImportBatch)? {
        guard rows.count > 1 else { return nil }
        let (first, second) = (rows[..<(rows.count / 2)], rows[(rows.count / 2)...])
        let middle = first.last?.record ?? before
        return (
            ImportBatch(
                before: before,
                through: middle,
                rows: Array(first),
                refusals: refusals.filter { $0.record <= middle }
            ),
            ImportBatch(
                before: middle,
                through: through,
                rows: Array(second),
                refusals: refusals.filter { $0.record > middle }
            )
        )
    }

    /// Returns a copy of this batch in which its only row is refused.
    func refusing(_ failure: Failure) -> ImportBatch {
        let refused = rows.map {
            RecordFinding(record: $0.record, line: $0.line, reason: "notStored", message: failure.message)
        }
        return ImportBatch(before: before, through: through, rows: [], refusals: refusals + refused)
    }
}

/// The numbers of records by outcome.
///
/// Each record is imported, existing or refused.
package struct ImportCounts: Sendable, Equatable {
    /// The number of processed records.
    package var records = 0
    /// The number of records that became users.
    package var imported = 0
    /// The number of records whose users already existed and stay unchanged.
    package var existing = 0
    /// The number of records that were refused, each with a line and a reason.
    package var refused = 0

    package init() {}

    /// Whether every processed record has an outcome.
    package var areWhole: Bool { records == imported + existing + refused }

    /// The outcomes as `{"imported", "existing", "refused"}`.
    package var outcomes: JSONObject {
        [
            "imported": .integer(Int64(imported)), "existing": .integer(Int64(existing)),
            "refused": .integer(Int64(refused)),
        ]
    }

    package static func + (left: ImportCounts, right: ImportCounts) -> ImportCounts {
        var sum = left
        sum.records += right.records
        sum.imported += right.imported
        sum.existing += right.existing
        sum.refused += right.refused
        return sum
    }
}

/// The outcome of a batch.
package struct ImportOutcome: Sendable {
    package var counts = ImportCounts()
    /// The numbers of the records whose users already existed.
    package var existing: Set<Int> = []
    /// The records that became no user, each with the reason, in no order.
    package var refusals: [RecordFinding] = []

    package init() {}

    static func + (left: ImportOutcome, right: ImportOutcome) -> ImportOutcome {
        var sum = left
        sum.counts = left.counts + right.counts
        sum.existing.formUnion(right.existing)
        sum.refusals += right.refusals
        return sum
    }
}

extension Failure {
    /// Returns the failure of an import whose outcomes do not add up to its records.
    package static func sumsDisagree(_ counts: ImportCounts) -> Failure {
        Failure(
            .internal,
            """
            The counts of the import do not match: of \(counts.records) records, \(counts.imported) were imported, \
            \(counts.existing) existed and \(counts.refused) were refused. The file or federation.imports was changed. \
            Start again with --restart: existing users are kept.
            """
        )
    }
}
