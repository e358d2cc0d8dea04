import Domain
import Encodings
import Import
import Mapping
import Store

/// Reads the records of an import file, and converts them to users, batch by batch.
///
/// The records of a batch are converted in four concurrent parts.
struct ImportReading {
    private var stream: RecordStream
    private let plan: ImportPlan
    private let encryption: HashEncryption
    private let repeated: RepeatedIdentities
    private let size: Int
    /// The names of the application's undeclared properties, including those that come from this file.
    private var dynamicNames: Set<PropertyName>
    /// Names in `dynamicNames` that are not yet registered for the application.
    private var newNames: Set<PropertyName> = []
    /// The number of records returned in batches or skipped.
    private(set) var done = 0
    /// Converted records that are in no batch yet.
    private var waiting: ArraySlice<Converted> = []
    private var counts: [String: Int] = [:]
    /// The number of records with a value that no property stores, and the number of such values.
    private(set) var dropped = (records: 0, values: 0)
    private var identityCounts: [String: Int]

    private static let maxNames = 200
    /// The size in bytes at which a batch ends, whatever its number of records.
    private static let maxBytes = 8_388_608

    /// The result of a record's conversion.
    private enum Converted: Sendable {
        case row(ImportRow, unmapped: [String])
        case refusal(RecordFinding)

        var record: Int {
            switch self {
            case .row(let row, _): row.record
            case .refusal(let refusal): refusal.record
            }
        }
    }

    /// Opens an import file.
    ///
    /// - Parameters:
    ///   - job: The import.
    ///   - application: The application for the users.
    ///   - dynamicNames: The names of the undeclared properties that the application already has.
    ///   - encryption: Encrypts password hashes.
    /// - Throws: `document_invalid` for an unreadable mapping or file.
    init(
        _ job: ImportJob,
        of application: Application,
        knowing dynamicNames: Set<PropertyName>,
        encryption: HashEncryption
    ) throws {
        do { plan = try ImportPlan(job.source, for: application, job.options) } catch { throw error.failure }
        stream = try RecordStream(opening: job.open, of: job.source)
        self.encryption = encryption
        var repeated = RepeatedIdentities()
        if !job.options.identityMembers.isEmpty {
            var claims = try RecordStream(opening: job.open, of: job.source)
            while let record = try claims.record() {
                let claim = plan.claim(of: record)
                repeated.add(claim.identities, of: claim.user)
            }
        }
        self.repeated = repeated
        self.dynamicNames = dynamicNames
        size = max(1, job.batch)
        // A provider without any record shows that the operator has misspelt a field.
        identityCounts = Dictionary(uniqueKeysWithValues: job.options.identityMembers.keys.map { ($0.text, 0) })
    }

    /// The fields of the file that no property stores, each with the number of records that have the field.
    ///
    /// The most frequent field is first.
    var unmapped: [(name: String, count: Int)] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// The providers of identities, each with the number of readable records that have such an identity.
    var identities: [(provider: String, count: Int)] {
        identityCounts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Skips records that an earlier run of the import has processed.
    ///
    /// - Parameters:
    ///   - records: The number of records.
    ///   - pass: Receives the user of each valid record.
    /// - Throws: `document_invalid` for an unreadable file.
    mutating func skip(_ records: Int, _ pass: (ImportRow) -> Void) async throws {
        while done < records {
            if waiting.isEmpty { waiting = try await convert()[...] }
            guard let converted = waiting.popFirst() else { return }
            if case .row(let row, let names) = converted {
                count(names, row)
                pass(row)
            }
            done = converted.record
        }
    }

    private mutating func count(_ names: [String], _ row: ImportRow) {
        for provider in Set(row.identities.map(\.key.provider.text)) { identityCounts[provider, default: 0] += 1 }
        if !names.isEmpty { dropped = (dropped.records + 1, dropped.values + names.count) }
        for name in names where counts[name] != nil || counts.count < Self.maxNames { counts[name, default: 0] += 1 }
    }

    /// Returns the next batch; nil at the end of the file.
    ///
    /// A batch never has two users with the same id, uid, login name or identity: it ends before the second one.
    mutating func next() async throws -> ImportBatch? {
        if waiting.isEmpty { waiting = try await convert()[...] }
        guard !waiting.isEmpty else { return nil }
        var (rows, refusals): ([ImportRow], [RecordFinding]) = ([], [])
        var keys = SeenUsers(.wholly)
        let before = done
        while let converted = waiting.first {
            switch converted {
            case .refusal(let refusal): refusals.append(refusal)
            case .row(var row, let names):
                guard !keys.knows(row) else { return batch() }
                keys.add(row)
                let placeless = withoutPlace(&row)
                rows.append(row)
                count(names + placeless, row)
            }
            done = converted.record
            waiting.removeFirst()
        }
        return batch()

        func batch() -> ImportBatch {
            ImportBatch(before: before, through: done, rows: rows, refusals: refusals)
        }
    }

    /// Returns the names of undeclared properties that the reader has found since the last call.
    ///
    /// The import has to register these names for the application.
    mutating func takeNewNames() -> [PropertyName] {
        defer { newNames = [] }
        return newNames.sorted()
    }

    /// Adds the names of a user's undeclared properties to those of the application, up to the maximum number of such
    /// names.
    ///
    /// Properties beyond the maximum are removed from the user.
    ///
    /// - Returns: The names of the removed properties.
    private mutating func withoutPlace(_ row: inout ImportRow) -> [String] {
        var placeless: [String] = []
        for member in row.given.dynamic.members {
            guard let name = PropertyName(member.key), !dynamicNames.contains(name) else { continue }
            if dynamicNames.count < Store.dynamicNamesAllowed {
                dynamicNames.insert(name)
                newNames.insert(name)
            } else {
                placeless.append(member.key)
            }
        }
        guard !placeless.isEmpty else { return [] }
        row.given.dynamic = JSONObject(row.given.dynamic.members.filter { !placeless.contains($0.key) })
        return placeless
    }

    /// Reads and converts the records of the next batch.
    ///
    /// A batch of large records has fewer records, so that its size in bytes stays limited.
    private mutating func convert() async throws -> [Converted] {
        var records: [SourceRecord] = []
        var bytes = 0
        while records.count < size, bytes < Self.maxBytes, let record = try stream.record() {
            records.append(record)
            bytes += record.bytes
        }
        let part = max(1, (records.count + Self.parts - 1) / Self.parts)
        let (plan, encryption, repeated) = (plan, encryption, repeated)
        return await withTaskGroup(of: (Int, [Converted]).self) { group in
            for start in stride(from: 0, to: records.count, by: part) {
                let slice = records[start...].prefix(part)
                group.addTask { (start, slice.map { Self.convert($0, by: plan, encryption, repeated) }) }
            }
            var parts: [(Int, [Converted])] = []
            for await part in group { parts.append(part) }
            return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }

    /// The number of parts of a batch that are converted concurrently.
    private static let parts = 4

    private static func convert(
        _ record: SourceRecord,
        by plan: ImportPlan,
        _ encryption: HashEncryption,
        _ repeated: RepeatedIdentities
    ) -> Converted {
        do throws(RecordRefusal) {
            let user = try plan.user(of: record)
            if let refusal = repeated.refusal(of: user.identities.map(\.key)) { throw refusal }
            var row = ImportRow(record: record.number, line: record.line, objectID: user.objectID)
            row.status = user.source.status
            row.emailVerified = user.source.emailVerified
            row.created = user.source.created
            row.updated = user.source.updated
            row.lastLogin = user.source.lastLogin
            row.given = user.given
            row.hasHash = user.source.password != nil
            row.identities = user.identities
            row.roles = user.source.roles
            row.uid = user.source.uid
            row.claims = user.source.claims
            if let login = user.login {
                row.password = try encryption.password(user.source.password, login: login, of: user.objectID)
            } else {
                row.socialAccount = user.identities.first?.key.provider.socialAccount
            }
            return .row(row, unmapped: user.unmapped)
        } catch {
            return .refusal(RecordFinding(error, of: record))
        }
    }
}

/// The users of a file so far, as short hashes of their ids, uids, login names and identities.
///
/// A record that repeats an earlier one of the file is refused. A user who existed before the import is counted as
/// existing. The database alone cannot tell these two cases apart.
struct SeenUsers {
    /// The values that are kept of each user.
    enum Memory {
        /// Only the id. The database knows which login names, identities and uids are taken.
        case byID
        /// The id, the uid, the login name and the identities, for users who are not in the database: those of a batch,
        /// or of a dry run.
        case wholly
    }

    private let memory: Memory
    private var hashes: Set<Int> = []

    private enum Key: Hashable {
        case id(ObjectID), uid(String), login(String), identity(IdentityKey)
    }

    init(_ memory: Memory) {
        self.memory = memory
    }

    private func logins(of row: ImportRow) -> [Int] {
        guard memory == .wholly else { return [] }
        let login = row.password.map { Key.login($0.login).hashValue }
        return [login].compactMap(\.self) + row.identities.map { Key.identity($0.key).hashValue }
    }

    /// The texts by which clients of Firebase may know the user.
    private func uids(of row: ImportRow) -> [Int] {
        guard memory == .wholly else { return [] }
        return [row.objectID.description, row.uid?.text].compactMap(\.self).map { Key.uid($0).hashValue }
    }

    private func id(of row: ImportRow) -> Int { Key.id(row.objectID).hashValue }

    /// Returns whether a user added before has the same id, uid, login name or identity.
    func knows(_ row: ImportRow) -> Bool {
        hashes.contains(id(of: row)) || (uids(of: row) + logins(of: row)).contains(where: hashes.contains)
    }

    /// Adds a user.
    ///
    /// If the user existed before the import, adds only the id and the uid: the import does not store the login name
    /// and the identities that the file has for this user.
    mutating func add(_ row: ImportRow, isExisting: Bool = false) {
        hashes.insert(id(of: row))
        hashes.formUnion(uids(of: row))
        if !isExisting { hashes.formUnion(logins(of: row)) }
    }

    /// Adds the users of a batch.
    mutating func add(_ batch: ImportBatch, _ outcome: ImportOutcome) {
        let refused = Set(outcome.refusals.map(\.record))
        for row in batch.rows where !refused.contains(row.record) {
            add(row, isExisting: outcome.existing.contains(row.record))
        }
    }

    /// Returns the batch, with a refusal in place of each repeated user.
    func refusingRepetitions(in batch: ImportBatch) -> ImportBatch {
        var rows: [ImportRow] = []
        var refusals = batch.refusals
        for row in batch.rows {
            let refusal: RecordRefusal
            if hashes.contains(id(of: row)) {
                refusal = .repeated
            } else if knows(row) {
                refusal = .takenInFile
            } else {
                rows.append(row)
                continue
            }
            refusals.append(
                RecordFinding(
                    record: row.record,
                    line: row.line,
                    reason: refusal.reason.rawValue,
                    message: refusal.message
                )
            )
        }
        return ImportBatch(
            before: batch.before,
            through: batch.through,
            rows: rows,
            refusals: refusals.sorted { $0.record < $1.record }
        )
    }
}

extension RecordStream {
    /// Opens a file at its beginning.
    ///
    /// - Throws: `document_invalid` for an unreadable file.
    init(opening open: () throws -> ImportJob.Reader, of source: ImportSource) throws {
        do { try self.init(of: source, try open()) } catch let error as UnreadableFile {
            throw Failure(.documentInvalid, "The file cannot be read: \(error).")
        }
    }

    /// Returns the next record; nil at the end.
    ///
    /// - Throws: `document_invalid` if the rest of the file is unreadable.
    mutating func record() throws -> SourceRecord? {
        do { return try next() } catch let error as UnreadableFile {
            throw Failure(.documentInvalid, "The file cannot be read after record \(count): \(error).")
        }
    }
}

extension RecordFinding {
    init(_ refusal: RecordRefusal, of record: SourceRecord) {
        self.init(
            record: record.number,
            line: record.line,
            reason: refusal.reason.rawValue,
            message: refusal.message
        )
    }
}

extension RecordRefusal {
    fileprivate static let repeated = RecordRefusal(
        .repeated,
        "an earlier record has the same id, or the same address if that replaces an id"
    )
    fileprivate static let takenInFile = RecordRefusal(
        .loginTaken,
        "another user of the file has the same login name, identity or uid"
    )
}
