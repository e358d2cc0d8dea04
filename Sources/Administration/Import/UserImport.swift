import Applications
package import Domain
import Encodings
package import Import
import Limiting
package import Passwords
import Providers
import Secrets
package import Store

/// A file of users, with the options of its import.
package struct ImportJob {
    /// A closure that returns the next bytes of the file; none at its end.
    package typealias Reader = () throws -> [UInt8]

    package let application: String
    package let source: ImportSource
    package fileprivate(set) var options: ImportOptions
    /// How the passwords of Firebase's users were hashed.
    package var firebase: FirebaseHashing?
    /// The SHA-256 of the file.
    package let fileHash: [UInt8]
    /// Opens the file at its beginning.
    package let open: () throws -> Reader
    /// What the import does if an earlier import of this file was interrupted: throw an error, resume it, or begin
    /// anew.
    package var former = Former.refused
    /// The maximum number of records that one batch stores.
    package var batch = 5000

    package enum Former: Sendable {
        case refused, resumed, begunAnew
    }

    package init(
        application: String,
        source: ImportSource,
        options: ImportOptions,
        fileHash: [UInt8],
        open: @escaping () throws -> Reader
    ) {
        self.application = application
        self.source = source
        self.options = options
        self.fileHash = fileHash
        self.open = open
    }
}

/// The callbacks of a running import.
package struct ImportListener {
    /// Receives the counts of all records so far, and the number of records that this run has processed.
    ///
    /// The counts include the records of an interrupted run that this one resumes.
    package var progress: (ImportCounts, Int) -> Void = { _, _ in }
    /// Receives each refused record, in the order of the file.
    package var refused: (RecordFinding) throws -> Void = { _ in }
    /// Called before the import waits for PostgreSQL, which still executes a batch of the interrupted import.
    package var waiting: () -> Void = {}

    package init() {}
}

/// The result of an import.
package struct ImportSummary: Sendable {
    package let counts: ImportCounts
    /// The fields that no property stored, although they had values, each with its number of records.
    package let unmapped: [(name: String, count: Int)]
    /// The providers of identities, each with the number of readable records that have such an identity.
    package let identities: [(provider: String, count: Int)]
}

/// Imports users from other systems, with their passwords and identities (docs/migrating/README.md).
package struct UserImport: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let banKey: BanKey
    let kinds: ProviderKinds
    let changes: ApplicationChanges
    let passwords: PasswordHasher
    /// The turns of backends' imports.
    ///
    /// They have the connections of the administration, so that no login waits for them. One at a time leaves the other
    /// connections to operators and to the background work.
    let turns = FairQueue(
        width: 1,
        max: 16,
        refusal: Failure(.overloaded, "Too many imports of backends are waiting. Try again shortly.", retryAfter: 2)
    )

    /// Imports the users of a file.
    ///
    /// - Parameters:
    ///   - job: The import.
    ///   - actor: The operator. The audit log records the beginning and the end.
    ///   - listener: Receives the progress.
    /// - Returns: The counts of the records.
    /// - Throws: `conflict` for an interrupted import of this file, unless the job resumes or restarts it;
    ///   `document_invalid` for an unreadable mapping or file; the errors of writing. Batches already stored stay. A
    ///   job that resumes the import continues after them.
    package func run(
        _ job: ImportJob,
        by actor: ChangeAuthor,
        telling listener: ImportListener = ImportListener()
    ) async throws -> ImportSummary {
        let stored = try await changes.importable(job.application, in: store)
        let application = try Application(stored)
        let key = ImportKey(application: application.id, at: application.database, fileHash: job.fileHash)
        let source = job.source.rawValue
        let former = try await former(job, key, listener)
        if let former, former.isFinished {
            try await eachRefusal(of: key, listener.refused)
            return ImportSummary(counts: former.counts, unmapped: [], identities: [])
        }
        var reading = try await reading(job, stored, application)
        let hash = try await banKey.hasher(of: application.id)
        var counts = former?.counts ?? ImportCounts()
        let formerly = counts.records
        var seen = SeenUsers(.byID)
        if former != nil {
            var refused: Set<Int> = []
            try await eachRefusal(of: key) { refused.insert($0.record) }
            try await reading.skip(formerly) { row in
                if !refused.contains(row.record) { seen.add(row) }
            }
        }
        if former == nil {
            try await store.beginImport(key, from: source, by: actor)
        } else {
            try await store.resumeImport(key, from: source, by: actor)
        }
        // The next batch is read while the database stores the previous one.
        try await withThrowingTaskGroup(of: (ImportBatch, ImportOutcome).self) { group in
            func finish(_ written: (batch: ImportBatch, outcome: ImportOutcome)) {
                seen.add(written.batch, written.outcome)
                counts = counts + written.outcome.counts
                listener.progress(counts, counts.records - formerly)
            }
            while let read = try await reading.next() {
                if let written = try await group.next() { finish(written) }
                let names = reading.takeNewNames()
                if !names.isEmpty { try await store.registerDynamicNames(names, of: application.id) }
                let batch = seen.refusingRepetitions(in: read)
                group.addTask { (batch, try await store.write(batch, of: key, in: application, hashingBy: hash)) }
            }
            for try await written in group { finish(written) }
        }
        guard counts.records == reading.done else { throw Failure.sumsDisagree(counts) }
        try await store.finishImport(key, from: source, counts, by: actor)
        try await eachRefusal(of: key, listener.refused)
        try await store.analyzeUsers(of: application)
        return ImportSummary(counts: counts, unmapped: reading.unmapped, identities: reading.identities)
    }

    /// Checks the records of a file as an import would.
    ///
    /// Nothing is stored.
    ///
    /// Unlike an import, the check keeps some bytes for each user until the end. They serve to find repeated users.
    package func check(
        _ job: ImportJob,
        telling listener: ImportListener = ImportListener()
    ) async throws -> ImportSummary {
        let stored = try await changes.importable(job.application, in: store)
        let application = try Application(stored)
        var reading = try await reading(job, stored, application)
        let hash = try await banKey.existingHasher(of: application, in: store)
        return try await pass(&reading, remembering: .wholly, telling: listener) { batch, _ throws(Failure) in
            try await store.check(batch, in: application, hashingBy: hash)
        }
    }

    /// Processes the batches of a file one after the other.
    ///
    /// - Parameters:
    ///   - reading: The file.
    ///   - memory: The values that are kept of each user, to find repeated users.
    ///   - listener: Receives the progress.
    ///   - process: Processes a batch, given the new names of undeclared properties.
    /// - Returns: The counts of the records.
    /// - Throws: `document_invalid` for an unreadable file; the errors of `process`.
    func pass(
        _ reading: inout ImportReading,
        remembering memory: SeenUsers.Memory,
        telling listener: ImportListener,
        _ process: (ImportBatch, [PropertyName]) async throws(Failure) -> ImportOutcome
    ) async throws -> ImportSummary {
        var counts = ImportCounts()
        var seen = SeenUsers(memory)
        while let read = try await reading.next() {
            let batch = seen.refusingRepetitions(in: read)
            let outcome = try await process(batch, reading.takeNewNames())
            seen.add(batch, outcome)
            counts = counts + outcome.counts
            for refusal in outcome.refusals.sorted(by: { $0.record < $1.record }) { try listener.refused(refusal) }
            listener.progress(counts, counts.records)
        }
        guard counts.areWhole, counts.records == reading.done else { throw Failure.sumsDisagree(counts) }
        return ImportSummary(counts: counts, unmapped: reading.unmapped, identities: reading.identities)
    }

    /// How many seconds an import waits until PostgreSQL has executed the last batch of an interrupted import.
    ///
    /// After the `first` seconds, the import calls `waiting`. Then it waits up to `second` more seconds.
    private static let timeouts: (first: Int64, second: Int64) = (1, 300)

    private func former(
        _ job: ImportJob,
        _ key: ImportKey,
        _ listener: ImportListener
    ) async throws(Failure) -> ImportProgress? {
        var stored: ImportProgress?
        do throws(Failure) {
            stored = try await store.progress(of: key, within: Self.timeouts.first)
        } catch {
            guard error.reason == .conflict else { throw error }
            listener.waiting()
            stored = try await store.progress(of: key, within: Self.timeouts.second)
        }
        guard let former = stored else { return nil }
        switch job.former {
        case .begunAnew: return nil
        case .refused where former.isFinished: return nil
        case .refused:
            throw Failure(
                .conflict,
                """
                An import of this file stopped after \(former.counts.records) records. Continue with --resume, or \
                start again with --restart.
                """
            )
        case .resumed:
            guard former.source.utf8.elementsEqual(job.source.rawValue.utf8) else {
                throw Failure(.conflict, "The stopped import reads the file as \(former.source).")
            }
            return former
        }
    }

    private func eachRefusal(of key: ImportKey, _ body: (RecordFinding) throws -> Void) async throws {
        let limit = 1000
        var last = 0
        while true {
            let refusals = try await store.refusals(of: key, after: last, limit: limit)
            for refusal in refusals { try body(refusal) }
            guard refusals.count == limit, let refusal = refusals.last else { return }
            last = refusal.record
        }
    }

    func reading(
        _ job: ImportJob,
        _ stored: StoredApplication,
        _ application: Application
    ) async throws -> ImportReading {
        var job = job
        for kind in kinds.all { job.options.subjects[kind.name] = kind.subjects }
        for (name, kind) in stored.providerKinds { job.options.subjects[name] = kinds.named(kind)?.subjects }
        // An application without the provider may get it later, and a provider of no known kind never has apps here.
        for (provider, app) in job.options.apps where stored.providers[provider] != nil {
            if job.options.subjects[provider]?.isGlobal == true { throw Failure.appOfGlobalIDs(provider) }
            try stored.requireApp(app, at: provider)
        }
        return try ImportReading(
            job,
            of: application,
            knowing: stored.dynamicNames,
            encryption: try await encryption(job, for: application)
        )
    }

    private func encryption(
        _ job: ImportJob,
        for application: Application
    ) async throws(Failure) -> HashEncryption {
        HashEncryption(
            application: application.id,
            masterKeys: masterKeys,
            firebase: job.firebase,
            unset: try await passwords.unset(of: application.id)
        )
    }
}

extension ApplicationChanges {
    /// Returns the application if it accepts imports.
    func importable(_ id: String, in store: Store) async throws(Failure) -> StoredApplication {
        let stored = try await existing(id)
        guard try await !store.isSharded(stored) else {
            throw Failure(
                .conflict,
                """
                The tables of \(stored.id) are distributed by Citus, and an import needs local tables. Undistribute \
                them for the import, without running instances: docs/citus.md#what-does-not-work-there.
                """
            )
        }
        return stored
    }
}

extension StoredApplication {
    /// Checks that the application has an app at a provider.
    ///
    /// Logins by any other app, such as a removed one, are refused, so an identity there would be of no use. It is far
    /// more likely that the operator has misspelt the app's id.
    ///
    /// - Throws: `document_invalid` if the application does not have the app.
    func requireApp(_ app: ProviderAppID, at provider: ProviderName) throws(Failure) {
        let apps = (providers[provider]?.apps ?? []).map(\.id)
        guard !apps.contains(app) else { return }
        let known = apps.isEmpty ? "none" : apps.map(\.text).joined(separator: ", ")
        throw Failure(
            .documentInvalid,
            """
            The application has no app \(app.text) at \(provider), but \(known). Ids of users differ from app to app: name the \
            app to which the ids belong, or add it to the provider first.
            """
        )
    }
}

extension Failure {
    /// Returns the failure for an app that was named although the provider has the same ids in every app.
    static func appOfGlobalIDs(_ provider: ProviderName) -> Failure {
        Failure(.documentInvalid, "Ids of \(provider) are the same in every app: leave the app out.")
    }
}

extension BanKey {
    /// Returns a function that hashes identities, for the search of bans in a dry run.
    ///
    /// If there are no bans, the function returns an empty hash. The key for the hashes may not exist yet, and a dry
    /// run must not create it.
    func existingHasher(of application: Application, in store: Store) async throws(Failure) -> IdentityHasher {
        guard try await store.bans(of: application, after: nil, limit: 1).first != nil else { return { _ in [] } }
        return try await hasher(of: application.id)
    }
}

/// Encrypts imported password hashes.
struct HashEncryption: Sendable {
    let application: ApplicationID
    let masterKeys: MasterKeys
    let firebase: FirebaseHashing?
    /// The hash for imported users without a usable password (`UnsetPassword`).
    ///
    /// These users must set a new password, unless the application has a password source.
    let unset: Secret

    func password(_ hash: ImportedHash?, login: String, of user: ObjectID) throws(RecordRefusal) -> StoredPassword {
        var text = unset
        if let hash {
            do throws(ForeignHashProblem) { text = try foreign(hash).text } catch {
                throw RecordRefusal(.passwordNotTaken, "\(error)")
            }
        }
        return StoredPassword(
            objectID: user,
            login: login,
            hash: masterKeys.encrypt(text, for: .passwordHash(application: application, user: user))
        )
    }

    private func foreign(_ hash: ImportedHash) throws(ForeignHashProblem) -> ForeignHash {
        switch hash {
        case .text(let text): return try ForeignHash(text)
        case .firebase(let hash, let salt):
            guard let firebase else { throw .malformed("the hash parameters of the project are missing") }
            return try firebase.hash(hash, salt: salt)
        case .digest(let name, let hash, let salt, let saltIsBefore):
            guard let digest = ForeignHash.Digest(rawValue: name) else { throw .unknownForm }
            return try .saltedDigest(digest, hash: hash, salt: salt, position: saltIsBefore ? .before : .after)
        }
    }
}
