import Applications
import Description
package import Domain
package import Encodings
import Import
import Mapping
import Passwords
import Store

/// Imports users by requests to the administration API.
///
/// A request contains the whole file of users.
extension UserImport {
    /// The maximum size in bytes of a request to import a file.
    ///
    /// An operator imports a larger file by the command line.
    package static let maxBytes = 4_194_304

    /// Imports the users of a file, or checks the file in a dry run.
    ///
    /// - Parameters:
    ///   - document: `{"source", "file", "apps"?, "columns"?, "identities"?, "mapping"?, "hashConfig"?,
    ///     "withoutPasswords"?, "withoutProviders"?, "withoutMembers"?, "former"?}`. `file` is the text of the file.
    ///     `former` is `resume` or `restart`, if an earlier import of the file was interrupted. The other members are
    ///     the options of the command `user import`.
    ///   - application: The application for the users.
    ///   - isDryRun: Whether the file is only checked.
    ///   - cursor: `next` of the response to the same request, for its further refused records.
    ///   - actor: The operator, for the audit log.
    /// - Returns: `{"file", "dryRun", "records", "imported", "existing", "refused",
    ///   "identities": [{"provider", "records"}], "unmapped": [{"field", "records"}],
    ///   "refusals": [{"record", "line", "reason", "message"}], "next"}`.
    /// - Throws: `document_invalid`, and the errors of an import.
    package func run(
        _ document: JSONValue,
        of application: String,
        isDryRun: Bool,
        after cursor: String?,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let job = try ImportJob(document, for: application)
        return try await ShownFindings.response(to: job.fileHash, isDryRun: isDryRun, after: cursor) { listener in
            isDryRun
                ? try await check(job, telling: listener).json
                : try await run(job, by: actor, telling: listener).json
        }
    }

    /// Compares the users of a file in a request with those of the application.
    ///
    /// - Parameters:
    ///   - document: The document of an import.
    ///   - application: The application of the users.
    ///   - cursor: `next` of the response to the same request, for its further findings.
    ///   - actor: The operator, for the audit log.
    /// - Returns: `file`, the members of `ComparisonSummary.json`, `"findings": [{"record", "line", "reason",
    ///   "message"}]` and `next`.
    /// - Throws: `document_invalid`, and the errors of a comparison.
    package func compare(
        _ document: JSONValue,
        of application: String,
        after cursor: String?,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let job = try ImportJob(document, for: application)
        let begin: JSONObject = ["file": .string(Hexadecimal.encode(job.fileHash))]
        return try await ShownFindings.response(begin, listing: "findings", after: cursor) { found in
            try await compare(job, by: actor, found: found).json
        }
    }

    /// Returns the latest imports of an application, including those of the command line.
    ///
    /// An import is `{"file", "source", "records", "imported", "existing", "refused", "started", "finished"}`.
    package func list(of application: String) async throws(Failure) -> Page {
        let owner = try Application(try await changes.existing(application))
        let imports = try await store.imports(into: owner, limit: 50)
        return Page(items: imports.map { .object($0.json) }, next: nil)
    }

    /// Returns the refused records of a file in the order of the file: `{"record", "line", "reason", "message"}`.
    ///
    /// - Throws: `not_found` for a text that is not the hash of a file.
    package func refusals(of file: String, in application: String, _ page: PageRequest) async throws(Failure) -> Page {
        let owner = try Application(try await changes.existing(application))
        guard let hash = Hexadecimal.decode(file.utf8), hash.count == 32 else {
            throw Failure(.notFound, "There is no import of this file.")
        }
        var after = 0
        if let cursor = page.cursor {
            guard let record = Int(cursor), record >= 0 else { throw .badCursor }
            after = record
        }
        let key = ImportKey(application: owner.id, at: owner.database, fileHash: hash)
        let refusals = try await store.refusals(of: key, after: after, limit: page.limit + 1)
        return page.page(of: refusals, cursor: { String($0.record) }, { .object($0.json) })
    }
}

extension IdentityImport {
    /// Imports the identities of a file in a request, or checks the file in a dry run.
    ///
    /// - Parameters:
    ///   - document: `{"provider", "app"?, "file", "format"?, "idsOf"?}`. `file` is the text of the file, `format` its
    ///     form: `csv` or `ndjson`. `idsOf` is the system from which an earlier import took the users, if the file
    ///     names users by their ids there.
    ///   - application: The application of the users.
    ///   - isDryRun: Whether the file is only checked.
    ///   - cursor: `next` of the response to the same request, for its further refused records.
    ///   - actor: The operator, for the audit log.
    /// - Returns: `{"file", "dryRun", "records", "imported", "existing", "refused", "refusals": [{"record", "line",
    ///   "reason", "message"}], "next"}`.
    /// - Throws: `document_invalid`, and the errors of an import.
    package func run(
        _ document: JSONValue,
        of application: String,
        isDryRun: Bool,
        after cursor: String?,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let job = try IdentityImportJob(document, for: application)
        return try await ShownFindings.response(to: job.fileHash, isDryRun: isDryRun, after: cursor) { listener in
            try await run(job, isDryRun: isDryRun, by: actor, telling: listener).json
        }
    }
}

/// The findings that one response to a file shows.
///
/// The findings of an import of identities and of a dry run are not stored. A client that wants further ones sends the
/// request again.
private struct ShownFindings {
    private static let limit = 200

    /// The number of findings that former responses have shown.
    private let before: Int
    private var count = 0
    private var shown: [JSONValue] = []

    /// - Parameter cursor: `next` of the former response; nil for the first one.
    /// - Throws: `malformed_request` for a cursor that no response had.
    private init(after cursor: String?) throws(Failure) {
        guard let before = Int(cursor ?? "0"), before >= 0 else { throw .badCursor }
        self.before = before
    }

    private mutating func add(_ finding: RecordFinding) {
        count += 1
        if count > before, shown.count < Self.limit { shown.append(.object(finding.json)) }
    }

    /// Runs an import, and returns the response to its request.
    ///
    /// - Parameters:
    ///   - fileHash: The SHA-256 of the file.
    ///   - isDryRun: Whether the file is only checked.
    ///   - cursor: `next` of the former response.
    ///   - body: Runs the import with a listener, and returns the numbers of records.
    /// - Returns: The numbers, with the file and some refused records.
    /// - Throws: The errors of the import.
    static func response(
        to fileHash: [UInt8],
        isDryRun: Bool,
        after cursor: String?,
        _ body: (ImportListener) async throws -> JSONObject
    ) async throws(Failure) -> JSONValue {
        let begin: JSONObject = ["file": .string(Hexadecimal.encode(fileHash)), "dryRun": .bool(isDryRun)]
        return try await response(begin, listing: "refusals", after: cursor) { refused in
            var listener = ImportListener()
            listener.refused = refused
            return try await body(listener)
        }
    }

    /// Processes a file, and returns the response to its request.
    ///
    /// - Parameters:
    ///   - begin: The first members of the response.
    ///   - name: The member with the findings.
    ///   - cursor: `next` of the former response.
    ///   - body: Processes the file with a receiver of the findings, and returns the numbers of records.
    /// - Returns: The response, with some of the findings, and `next`.
    /// - Throws: The errors of the processing.
    static func response(
        _ begin: JSONObject,
        listing name: String,
        after cursor: String?,
        _ body: (@escaping (RecordFinding) throws -> Void) async throws -> JSONObject
    ) async throws(Failure) -> JSONValue {
        var findings = try ShownFindings(after: cursor)
        let numbers: JSONObject
        do { numbers = try await body { findings.add($0) } } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The file could not be processed.", cause: "\(error)")
        }
        let end = findings.before + findings.shown.count
        return .object(
            JSONObject(
                begin.members + numbers.members + [
                    .init(name, .array(findings.shown)),
                    .init("next", findings.count > end ? .string(String(end)) : .null),
                ]
            )
        )
    }
}

extension ImportCounts {
    /// The counts as `{"records", "imported", "existing", "refused"}`.
    package var json: JSONObject {
        JSONObject([.init("records", .integer(Int64(records)))] + outcomes.members)
    }
}

extension ImportSummary {
    /// The summary as `{"records", "imported", "existing", "refused", "identities": [{"provider", "records"}],
    /// "unmapped": [{"field", "records"}]}`.
    package var json: JSONObject {
        let more: JSONObject = [
            "identities": .array(
                identities.map { .object(["provider": .string($0.provider), "records": .integer(Int64($0.count))]) }
            ),
            "unmapped": .array(
                unmapped.map { .object(["field": .string($0.name), "records": .integer(Int64($0.count))]) }
            ),
        ]
        return JSONObject(counts.json.members + more.members)
    }
}

extension RecordFinding {
    /// The refusal as `{"record", "line", "reason", "message"}`.
    package var json: JSONObject {
        [
            "record": .integer(Int64(record)), "line": .integer(Int64(line)), "reason": .string(reason),
            "message": .string(message),
        ]
    }
}

extension StoredImport {
    fileprivate var json: JSONObject {
        [
            "file": .string(Hexadecimal.encode(fileHash)), "source": .string(progress.source),
            "records": .integer(Int64(progress.counts.records)),
            "imported": .integer(Int64(progress.counts.imported)),
            "existing": .integer(Int64(progress.counts.existing)),
            "refused": .integer(Int64(progress.counts.refused)), "started": .integer(started),
            "finished": finished.map(JSONValue.integer) ?? .null,
        ]
    }
}

extension IdentityImportJob {
    private static let members = ["provider", "app", "file", "format", "idsOf"]

    /// Reads an import from a request.
    ///
    /// - Throws: `document_invalid` with all problems.
    fileprivate init(_ document: JSONValue, for application: String) throws(Failure) {
        guard let object = document.object else {
            throw DocumentProblems(JSONPointer(), "must be an object").failure
        }
        var problems = DocumentProblems()
        for member in object.members where !Self.members.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(unknown: member.key, at: JSONPointer() / member.key, among: Self.members)
        }
        let provider = object["provider"]?.string.flatMap { ProviderName($0) }
        if provider == nil { problems.add(JSONPointer() / "provider", "must be the name of a provider") }
        let file = object["file"]?.string.map { Array($0.utf8) }
        if file == nil { problems.add(JSONPointer() / "file", "must be the text of the file") }
        let app = object.present("app")
        if app != nil, app?.string.flatMap(ProviderAppID.init) == nil {
            problems.add(JSONPointer() / "app", "must be the id of an app")
        }
        let forms: [String: ImportSource] = ["csv": .csv, "ndjson": .ndjson]
        let form = object.present("format").map { $0.string.flatMap { forms[$0] } } ?? .csv
        if form == nil { problems.add(JSONPointer() / "format", "must be \"csv\" or \"ndjson\"") }
        let former = object.present("idsOf").map { $0.string.flatMap { ImportSource(rawValue: $0) } }
        if case .some(.none) = former { problems.add(JSONPointer() / "idsOf", "must be a source of users") }
        guard problems.isEmpty, let provider, let file, let form else { throw problems.failure }
        self.init(
            application: application,
            form: form,
            provider: provider,
            fileHash: FileDigest.digest(of: file),
            open: ImportJob.reader(of: file)
        )
        self.app = app?.string.flatMap(ProviderAppID.init)
        self.former = former ?? nil
    }
}

extension ImportJob {
    /// Returns a closure that opens a file in memory.
    static func reader(of file: [UInt8]) -> () throws -> Reader {
        {
            var rest: [UInt8]? = file
            return {
                defer { rest = nil }
                return rest ?? []
            }
        }
    }

    private static let members = [
        "source", "file", "apps", "columns", "identities", "mapping", "hashConfig", "withoutPasswords",
        "withoutProviders", "withoutMembers", "former",
    ]

    /// Reads an import from a request.
    ///
    /// - Throws: `document_invalid` with all problems.
    fileprivate init(_ document: JSONValue, for application: String) throws(Failure) {
        guard let object = document.object else {
            throw DocumentProblems(JSONPointer(), "must be an object").failure
        }
        var problems = DocumentProblems()
        for member in object.members where !Self.members.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(unknown: member.key, at: JSONPointer() / member.key, among: Self.members)
        }
        let source = object["source"]?.string.flatMap { ImportSource(rawValue: $0) }
        if source == nil {
            let names = ImportSource.allCases.map(\.rawValue).joined(separator: ", ")
            problems.add(JSONPointer() / "source", "must be one of \(names)")
        }
        let file = object["file"]?.string.map { Array($0.utf8) }
        if file == nil { problems.add(JSONPointer() / "file", "must be the text of the file") }
        let options = Self.options(object, &problems)
        let firebase = Self.firebase(object, source, options, &problems)
        let former = object.present("former")
        let formers: [String: Former] = ["resume": .resumed, "restart": .begunAnew]
        let wanted = former.map { $0.string.flatMap { formers[$0] } } ?? .refused
        if wanted == nil { problems.add(JSONPointer() / "former", "must be \"resume\" or \"restart\"") }
        guard problems.isEmpty, let source, let file, let wanted else { throw problems.failure }
        self.init(
            application: application,
            source: source,
            options: options,
            fileHash: FileDigest.digest(of: file),
            open: Self.reader(of: file)
        )
        self.firebase = firebase
        self.former = wanted
    }

    private static func options(_ object: JSONObject, _ problems: inout DocumentProblems) -> ImportOptions {
        var options = ImportOptions()
        if let mapping = object.present("mapping") {
            do throws(MappingProblems) { options.mapping = try Mapping(mapping) } catch {
                problems.add(JSONPointer() / "mapping", error.failure.message)
            }
        }
        func texts(_ name: String) -> [String] {
            guard let value = object.present(name) else { return [] }
            let texts = value.array?.compactMap(\.string) ?? []
            if value.array?.count != texts.count {
                problems.add(JSONPointer() / name, "must be a list of texts")
            }
            return texts
        }
        func pairs(_ name: String, _ take: (JSONObject.Member) -> Bool) {
            guard let value = object.present(name) else { return }
            guard let members = value.object?.members else {
                problems.add(JSONPointer() / name, "must be an object")
                return
            }
            for member in members where !take(member) {
                problems.add(JSONPointer() / name / member.key, "cannot be read")
            }
        }
        pairs("apps") { member in
            guard let provider = ProviderName(member.key), let app = member.value.string.flatMap(ProviderAppID.init)
            else { return false }
            options.apps[provider] = app
            return true
        }
        pairs("identities") { member in
            guard let provider = ProviderName(member.key), let name = member.value.string, !name.isEmpty
            else { return false }
            options.identityMembers[provider] = name
            return true
        }
        pairs("columns") { member in
            guard let field = SystemField(rawValue: member.key), let column = member.value.string else { return false }
            options.columns[field] = column
            return true
        }
        for text in texts("withoutProviders") {
            guard let provider = ProviderName(text) else {
                problems.add(JSONPointer() / "withoutProviders", "must be a list of names of providers")
                continue
            }
            options.withoutProviders.insert(provider)
        }
        options.withoutMembers = Set(texts("withoutMembers"))
        if let value = object.present("withoutPasswords") {
            if value.bool == nil { problems.add(JSONPointer() / "withoutPasswords", "must be true or false") }
            options.withoutPasswords = value.bool ?? false
        }
        return options
    }

    private static func firebase(
        _ object: JSONObject,
        _ source: ImportSource?,
        _ options: ImportOptions,
        _ problems: inout DocumentProblems
    ) -> FirebaseHashing? {
        let place = JSONPointer() / "hashConfig"
        let given = object.present("hashConfig")
        guard given == nil || given?.string != nil else {
            problems.add(place, "must be a text")
            return nil
        }
        let text = given?.string ?? ""
        guard (source == .firebase && !options.withoutPasswords) != text.isEmpty else {
            if source != nil {
                problems.add(
                    place,
                    text.isEmpty
                        ? "is required: the hash parameters from the Firebase console, or withoutPasswords"
                        : "is only for the source firebase with hashes"
                )
            }
            return nil
        }
        guard !text.isEmpty else { return nil }
        do throws(HashConfigProblem) { return .firebaseScrypt(try FirebaseScryptParameters(hashConfig: text)) } catch {
            problems.add(place, "\(error)")
            return nil
        }
    }
}
