import Import
import Mapping
import Store
import Vocabulary

/// A file on its way to the database: records in batches, of which four parts are converted at once.
struct ImportReading {
    private var stream: RecordStream
    private let plan: ImportPlan
    private let sealing: HashSealing
    private let size: Int
    /// Names of undeclared properties that the application has, or gets with what has been given out.
    private var dynamicNames: Set<PropertyName>
    /// Those that it does not know yet.
    private var newNames: Set<PropertyName> = []
    /// How many records have been given out, or passed over.
    private(set) var done = 0
    /// What has been converted and is in no batch yet.
    private var waiting: ArraySlice<Converted> = []
    private var counts: [String: Int] = [:]

    private static let mostNames = 200
    /// Bytes of the records that are held at once, whatever a batch may have.
    private static let mostBytes = 8_388_608

    /// What has become of a record.
    private enum Converted: Sendable {
        case row(ImportRow, untaken: [String])
        case refusal(ImportRefusal)

        var record: Int {
            switch self {
            case .row(let row, _): row.record
            case .refusal(let refusal): refusal.record
            }
        }
    }

    /// - Parameters:
    ///   - job: The file.
    ///   - application: Whose users its records become.
    ///   - dynamicNames: Of undeclared properties that the application has.
    ///   - sealing: Makes hashes ready for storing.
    /// - Throws: `document_invalid` for a mapping or a file that cannot be read.
    init(
        _ job: ImportJob,
        of application: Application,
        knowing dynamicNames: Set<PropertyName>,
        sealing: HashSealing
    ) throws {
        do { plan = try ImportPlan(job.source, for: application, job.options) } catch { throw error.failure }
        do { stream = try RecordStream(of: job.source, try job.open()) } catch let error as UnreadableFile {
            throw Failure(.documentInvalid, "The file cannot be read: \(error).")
        }
        self.sealing = sealing
        self.dynamicNames = dynamicNames
        size = max(1, job.batch)
    }

    /// The fields that have no property, those of most records first.
    var untaken: [(name: String, count: Int)] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// Passes over records that were done before.
    ///
    /// - Parameters:
    ///   - records: How many.
    ///   - pass: Gets the user of each that is one.
    /// - Throws: `document_invalid` for a file that cannot be read.
    mutating func skip(_ records: Int, _ pass: (ImportRow) -> Void) async throws {
        while done < records {
            if waiting.isEmpty { waiting = try await convert()[...] }
            guard let converted = waiting.popFirst() else { return }
            if case .row(let row, let names) = converted {
                count(names)
                pass(row)
            }
            done = converted.record
        }
    }

    private mutating func count(_ names: [String]) {
        for name in names where counts[name] != nil || counts.count < Self.mostNames { counts[name, default: 0] += 1 }
    }

    /// The next batch; nil at the end.
    ///
    /// It ends early in front of a user who has an id, a login or an identity of one before.
    mutating func next() async throws -> ImportBatch? {
        if waiting.isEmpty { waiting = try await convert()[...] }
        guard !waiting.isEmpty else { return nil }
        var (rows, refusals): ([ImportRow], [ImportRefusal]) = ([], [])
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
                count(names + placeless)
            }
            done = converted.record
            waiting.removeFirst()
        }
        return batch()

        func batch() -> ImportBatch {
            ImportBatch(before: before, through: done, rows: rows, refusals: refusals)
        }
    }

    /// Names of undeclared properties of the batches since the last call that the application has to get.
    mutating func takeNewNames() -> [PropertyName] {
        defer { newNames = [] }
        return newNames.sorted()
    }

    /// Takes undeclared properties from a row for which the application has no place left.
    ///
    /// - Returns: Their names.
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

    private mutating func record() throws -> SourceRecord? {
        do { return try stream.next() } catch let error as UnreadableFile {
            throw Failure(.documentInvalid, "The file cannot be read behind record \(stream.count): \(error).")
        }
    }

    /// Reads and converts as many records as a batch has, or fewer where these are large.
    private mutating func convert() async throws -> [Converted] {
        var records: [SourceRecord] = []
        var bytes = 0
        while records.count < size, bytes < Self.mostBytes, let record = try record() {
            records.append(record)
            bytes += record.bytes
        }
        let part = max(1, (records.count + Self.parts - 1) / Self.parts)
        let (plan, sealing) = (plan, sealing)
        return await withTaskGroup(of: (Int, [Converted]).self) { group in
            for start in stride(from: 0, to: records.count, by: part) {
                let slice = records[start...].prefix(part)
                group.addTask { (start, slice.map { Self.convert($0, by: plan, sealing) }) }
            }
            var parts: [(Int, [Converted])] = []
            for await part in group { parts.append(part) }
            return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }

    /// Into how many parts a batch is divided.
    private static let parts = 4

    private static func convert(_ record: SourceRecord, by plan: ImportPlan, _ sealing: HashSealing) -> Converted {
        do throws(RecordRefusal) {
            let user = try plan.user(of: record)
            var row = ImportRow(record: record.number, line: record.line, objectID: user.objectID)
            row.status = user.source.status
            row.emailVerified = user.source.emailVerified
            row.created = user.source.created
            row.updated = user.source.updated
            row.lastLogin = user.source.lastLogin
            row.given = user.given
            row.identities = user.identities
            row.roles = user.source.roles
            if let login = user.login {
                row.password = try sealing.password(user.source.password, login: login, of: user.objectID)
            } else {
                row.socialAccount = user.identities.first?.key.provider.socialAccount
            }
            return .row(row, untaken: user.untaken)
        } catch {
            return .refusal(
                ImportRefusal(
                    record: record.number,
                    line: record.line,
                    reason: error.reason.rawValue,
                    message: error.message
                )
            )
        }
    }
}

/// The users of a file until now, by what only one user can have; each id, login and identity is some bytes of a hash.
///
/// The database cannot tell a record that repeats an earlier one of the file from a user who was there before the
/// import: the first is refused, the second counts as existing.
struct SeenUsers {
    /// What is remembered of a user.
    enum Memory {
        /// The id alone: the database says which logins and identities are taken.
        case byID
        /// The id, the login and the identities, for users who are not written yet: those of a batch, and of a dry run.
        case wholly
    }

    private let memory: Memory
    private var hashes: Set<Int> = []

    private enum Key: Hashable {
        case id(ObjectID), login(String), identity(IdentityKey)
    }

    init(_ memory: Memory) {
        self.memory = memory
    }

    private func logins(of row: ImportRow) -> [Int] {
        guard memory == .wholly else { return [] }
        let login = row.password.map { Key.login($0.login).hashValue }
        return [login].compactMap(\.self) + row.identities.map { Key.identity($0.key).hashValue }
    }

    private func id(of row: ImportRow) -> Int { Key.id(row.objectID).hashValue }

    /// Whether something of the user is another's already.
    func knows(_ row: ImportRow) -> Bool {
        hashes.contains(id(of: row)) || logins(of: row).contains(where: hashes.contains)
    }

    /// Remembers a user; of an existing one the id alone, since the stored login and identities count, not the file's.
    mutating func add(_ row: ImportRow, isExisting: Bool = false) {
        hashes.insert(id(of: row))
        if !isExisting { hashes.formUnion(logins(of: row)) }
    }

    /// Remembers the users of a batch.
    mutating func add(_ batch: ImportBatch, _ outcome: ImportOutcome) {
        let refused = Set(outcome.refusals.map(\.record))
        for row in batch.rows where !refused.contains(row.record) {
            add(row, isExisting: outcome.existing.contains(row.record))
        }
    }

    /// The batch with its repeated users refused.
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
                ImportRefusal(
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

extension RecordRefusal {
    fileprivate static let repeated = RecordRefusal(
        .repeated,
        "a record before it has the same id, or the same address where that stands for an id"
    )
    fileprivate static let takenInFile = RecordRefusal(
        .loginTaken,
        "another user of the file has its login or one of its identities"
    )
}
