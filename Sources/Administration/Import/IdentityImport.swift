import Applications
import Description
package import Domain
package import Import
import Providers
import Secrets
package import Store

/// A file of identities, with the options of its import.
package struct IdentityImportJob {
    package let application: String
    /// The form of the file: CSV or lines of JSON.
    package let form: ImportSource
    package let provider: ProviderName
    /// The app to which the ids belong; nil only for a provider whose ids are the same in every app.
    package var app: ProviderAppID?
    /// The system from which an earlier import took the users, if the file names users by their ids in that system.
    package var former: ImportSource?
    /// The SHA-256 of the file.
    package let fileHash: [UInt8]
    /// Opens the file at its beginning.
    package let open: () throws -> ImportJob.Reader

    package init(
        application: String,
        form: ImportSource,
        provider: ProviderName,
        fileHash: [UInt8],
        open: @escaping () throws -> ImportJob.Reader
    ) {
        self.application = application
        self.form = form
        self.provider = provider
        self.fileHash = fileHash
        self.open = open
    }
}

/// Imports of identities for users who are here already (docs/migrating/identities.md).
package struct IdentityImport: Sendable {
    let store: Store
    let banKey: BanKey
    let kinds: ProviderKinds
    let changes: ApplicationChanges

    /// The number of records that are written together.
    ///
    /// Logins of their users wait meanwhile.
    private static let batch = 1000

    /// Imports the identities of a file, or checks the file in a dry run.
    ///
    /// Users get no mail about their new identity. An interrupted import can start again: identities that users have
    /// already are counted as existing.
    ///
    /// - Parameters:
    ///   - job: The import.
    ///   - isDryRun: Whether nothing is written.
    ///   - actor: The operator. The audit log records the beginning and the end.
    ///   - listener: Receives the progress and the refused records.
    /// - Returns: The counts of the records.
    /// - Throws: `document_invalid` for an unreadable file, or an app that is missing or not the application's; the
    ///   errors of writing. Batches already written stay.
    package func run(
        _ job: IdentityImportJob,
        isDryRun: Bool,
        by actor: ChangeAuthor,
        telling listener: ImportListener = ImportListener()
    ) async throws -> ImportCounts {
        let stored = try await changes.importable(job.application, in: store)
        let application = try Application(stored)
        let pairs = try reader(of: job, for: stored, application)
        let repeated = try repeatedIdentities(of: job, by: pairs)
        let hash =
            isDryRun
            ? try await banKey.existingHasher(of: application, in: store) : try await banKey.hasher(of: application.id)
        func record(_ step: String, _ counts: ImportCounts? = nil) async throws {
            guard !isDryRun else { return }
            try await store.recordIdentityImport(
                step,
                at: job.provider,
                into: application,
                fileHash: job.fileHash,
                counts: counts,
                by: actor
            )
        }
        try await record("begin")
        var counts = ImportCounts()
        var users: Set<Int> = []
        var approved: Set<Int> = []
        var stream = try RecordStream(opening: job.open, of: job.form)
        while true {
            let batch = try nextBatch(of: &stream, by: pairs, without: repeated, &users)
            if batch.pairs.isEmpty, batch.refusals.isEmpty { break }
            let outcome =
                isDryRun
                ? try await store.checkLinks(
                    batch.pairs,
                    besides: batch.refusals,
                    after: &approved,
                    in: application,
                    hashingBy: hash
                )
                : try await store.link(batch.pairs, besides: batch.refusals, in: application, hashingBy: hash)
            counts = counts + outcome.counts
            for refusal in outcome.refusals.sorted(by: { $0.record < $1.record }) { try listener.refused(refusal) }
            listener.progress(counts, counts.records)
        }
        guard counts.records == stream.count, counts.records == repeated.records else {
            throw Failure.sumsDisagree(counts)
        }
        try await record("end", counts)
        return counts
    }

    private func reader(
        of job: IdentityImportJob,
        for stored: StoredApplication,
        _ application: Application
    ) throws(Failure) -> IdentityPairs {
        guard let rule = kinds.named(stored.providerKinds[job.provider] ?? job.provider)?.subjects else {
            throw kinds.unknown(job.provider, beside: stored.providerKinds.keys)
        }
        guard !rule.isGlobal || job.app == nil else {
            throw Failure.appOfGlobalIDs(job.provider)
        }
        guard let app = job.app ?? (rule.isGlobal ? .global : nil) else {
            throw Failure(
                .documentInvalid,
                "Ids of \(job.provider) belong to an app: name the app by --app, or in the member app."
            )
        }
        if !rule.isGlobal { try stored.requireApp(app, at: job.provider) }
        return IdentityPairs(of: application.id, at: job.provider, app: app, rule: rule, idsOf: job.former)
    }

    private func repeatedIdentities(
        of job: IdentityImportJob,
        by pairs: IdentityPairs
    ) throws -> RepeatedIdentities {
        var repeated = RepeatedIdentities()
        var stream = try RecordStream(opening: job.open, of: job.form)
        while let record = try stream.record() {
            if let columns = record.columns, !IdentityPairs.areColumns(columns) {
                throw Failure(
                    .documentInvalid,
                    "The header of the file must name the column subject, and objectId or email."
                )
            }
            let claim = pairs.claim(of: record)
            repeated.add(claim.identities, of: claim.user)
        }
        return repeated
    }

    private func nextBatch(
        of stream: inout RecordStream,
        by pairs: IdentityPairs,
        without repeated: RepeatedIdentities,
        _ users: inout Set<Int>
    ) throws -> (pairs: [IdentityPair], refusals: [RecordFinding]) {
        var (read, refusals): ([IdentityPair], [RecordFinding]) = ([], [])
        while read.count + refusals.count < Self.batch, let record = try stream.record() {
            do throws(RecordRefusal) {
                let pair = try pairs.pair(of: record)
                if let refusal = repeated.refusal(of: [pair.identity]) { throw refusal }
                guard users.insert(pair.userHash).inserted else { throw RecordRefusal.userRepeated }
                read.append(pair)
            } catch {
                refusals.append(RecordFinding(error, of: record))
            }
        }
        return (read, refusals)
    }
}

extension IdentityPair {
    /// A hash of the id or address by which the record names its user.
    fileprivate var userHash: Int {
        switch user {
        case .id(let id): id.hashValue
        case .email(let address): address.text.lowercased().hashValue
        }
    }
}

extension RecordRefusal {
    fileprivate static let userRepeated = RecordRefusal(.repeated, "an earlier record has the same user")
}
