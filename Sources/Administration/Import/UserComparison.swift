import Applications
package import Domain
package import Encodings
import Import
package import Store

/// The numbers of a comparison of an import file with the users of an application.
///
/// Each record is complete, differs, is incomplete, is missing or is refused.
package struct ComparisonCounts: Sendable, Equatable {
    package fileprivate(set) var records = 0
    /// The number of records whose users have everything that the record has.
    package fileprivate(set) var complete = 0
    /// The number of records whose users have other values, but all login methods.
    package fileprivate(set) var differs = 0
    /// The number of records whose users lack an identity, or a password although the file has a hash.
    package fileprivate(set) var incomplete = 0
    /// The number of records whose users the application does not have.
    package fileprivate(set) var missing = 0
    /// The number of records that cannot become users.
    package fileprivate(set) var refused = 0
    /// The number of records with a password hash whose users have a password.
    package fileprivate(set) var passwordsTaken = 0
    /// The number of records with a password hash whose users have no password, or are missing.
    package fileprivate(set) var passwordsMissing = 0
    /// The number of records with an e-mail address of another user, or of an earlier record.
    package fileprivate(set) var emailsShared = 0
    /// The number of records with a login name of another user, or of an earlier record.
    package fileprivate(set) var loginsShared = 0

    /// Whether every record has one outcome.
    var areWhole: Bool { records == complete + differs + incomplete + missing + refused }

    /// Whether users, identities or passwords of the file are missing, or records cannot be compared.
    package var lackSomething: Bool { incomplete + missing + refused > 0 }
}

/// The result of a comparison of an import file with the users of an application.
package struct ComparisonSummary: Sendable {
    /// The numbers of a provider's identities in the file.
    package struct Identities: Sendable, Equatable {
        package fileprivate(set) var here = 0
        package fileprivate(set) var missing = 0
        package fileprivate(set) var ofOthers = 0
    }

    package fileprivate(set) var counts = ComparisonCounts()
    package fileprivate(set) var identities: [ProviderName: Identities] = [:]
    /// For each property, the number of users who have another value than their record.
    package fileprivate(set) var differences: [String: Int] = [:]
    /// The number of records with a value that no property takes, and the number of such values.
    package fileprivate(set) var dropped = (records: 0, values: 0)
    /// The fields that no property takes, although they have values, each with its number of records.
    package fileprivate(set) var unmapped: [(name: String, count: Int)] = []
}

extension UserImport {
    /// Compares the users of a file with those of the application.
    ///
    /// Nothing is changed, except that the audit log records the reading. The comparison keeps three numbers for each
    /// user until the end. They serve to find repeated users, addresses and login names.
    ///
    /// - Parameters:
    ///   - job: The import of the file, with the same options.
    ///   - actor: The operator.
    ///   - progress: Receives the counts after each batch.
    ///   - found: Receives what was found about a record, in the order of the file. A record may have several findings.
    /// - Returns: The numbers of the whole file.
    /// - Throws: `document_invalid` for an unreadable mapping or file; the errors of reading.
    package func compare(
        _ job: ImportJob,
        by actor: ChangeAuthor,
        progress: (ComparisonCounts) -> Void = { _ in },
        found: (RecordFinding) throws -> Void = { _ in }
    ) async throws -> ComparisonSummary {
        let stored = try await changes.importable(job.application, in: store)
        let application = try Application(stored)
        var reading = try await reading(job, stored, application)
        let facts: JSONObject = ["comparedFile": .string(Hexadecimal.encode(job.fileHash))]
        try await store.recordReading(.search, of: nil, facts, in: application.id, by: actor)
        var (summary, names) = (ComparisonSummary(), SeenNames())
        var seen = SeenUsers(.byID)
        while let read = try await reading.next() {
            let batch = seen.refusingRepetitions(in: read)
            for row in batch.rows { seen.add(row) }
            let comparison = try await store.compare(batch, in: application)
            var findings = comparison.refusals
            for counterpart in comparison.counterparts {
                findings += summary.add(counterpart, repeating: names.add(counterpart.row))
            }
            summary.counts.refused += comparison.refusals.count
            summary.counts.records += batch.through - batch.before
            for finding in findings.sorted(by: { $0.record < $1.record }) { try found(finding) }
            progress(summary.counts)
        }
        guard summary.counts.areWhole, summary.counts.records == reading.done else {
            throw Failure(.internal, "The counts of the comparison do not match the records of the file. Repeat it.")
        }
        // A provider without any record shows that the operator has misspelt a field.
        for provider in job.options.identityMembers.keys where summary.identities[provider] == nil {
            summary.identities[provider] = ComparisonSummary.Identities()
        }
        summary.dropped = reading.dropped
        summary.unmapped = reading.unmapped
        return summary
    }
}

/// The e-mail addresses and login names of a file so far, as hashes.
private struct SeenNames {
    private var emails: Set<Int> = []
    private var logins: Set<Int> = []

    /// Adds the names of a user.
    ///
    /// - Returns: Whether an earlier user has the address or the login name.
    mutating func add(_ row: ImportRow) -> (email: Bool, login: Bool) {
        var repeated = (email: false, login: false)
        if case .value(.text(let email)) = row.given.given(.email) {
            repeated.email = !emails.insert(email.lowercased().hashValue).inserted
        }
        if let login = row.password?.login { repeated.login = !logins.insert(login.hashValue).inserted }
        return repeated
    }
}

extension ComparisonSummary {
    /// Counts a record.
    ///
    /// - Parameters:
    ///   - counterpart: What the application has of its user.
    ///   - earlier: Whether an earlier record has its address or its login name.
    /// - Returns: What was found about the record, without any value.
    fileprivate mutating func add(
        _ counterpart: StoredCounterpart,
        repeating earlier: (email: Bool, login: Bool)
    ) -> [RecordFinding] {
        let row = counterpart.row
        var findings: [RecordFinding] = []
        func report(_ reason: String, _ message: String) {
            findings.append(RecordFinding(record: row.record, line: row.line, reason: reason, message: message))
        }
        if !counterpart.isThere { report("userMissing", "its user is not here") }
        var lacksMethod = false
        for (provider, owner) in counterpart.identities {
            switch owner {
            case .user: identities[provider, default: Identities()].here += 1
            case .another:
                identities[provider, default: Identities()].ofOthers += 1
                lacksMethod = true
                report("identityTaken", "another user here has its identity at \(provider)")
            case .nobody:
                identities[provider, default: Identities()].missing += 1
                lacksMethod = true
                if counterpart.isThere { report("identityMissing", "its user has no such identity at \(provider)") }
            }
        }
        if row.hasHash {
            if counterpart.hasPassword {
                counts.passwordsTaken += 1
            } else {
                counts.passwordsMissing += 1
                lacksMethod = true
                if counterpart.isThere { report("passwordMissing", "its user has no password") }
            }
        }
        if counterpart.loginIsShared || earlier.login {
            counts.loginsShared += 1
            report("loginShared", "\(Self.other(counterpart.loginIsShared)) has its login name")
        }
        if counterpart.emailIsShared || earlier.email {
            counts.emailsShared += 1
            report("emailShared", "\(Self.other(counterpart.emailIsShared)) has its e-mail address")
        }
        for name in counterpart.differences { differences[name, default: 0] += 1 }
        if !counterpart.differences.isEmpty {
            report("valueDiffers", "its user has another value of \(counterpart.differences.joined(separator: ", "))")
        }
        if !counterpart.isThere {
            counts.missing += 1
        } else if lacksMethod {
            counts.incomplete += 1
        } else if !counterpart.differences.isEmpty {
            counts.differs += 1
        } else {
            counts.complete += 1
        }
        return findings
    }

    private static func other(_ isHere: Bool) -> String { isHere ? "another user here" : "an earlier record" }

    /// The summary as `{"records", "complete", "differs", "incomplete", "missing", "refused", "passwordsTaken",
    /// "passwordsMissing", "emailsShared", "loginsShared", "droppedRecords", "droppedValues", "identities":
    /// [{"provider", "here", "missing", "ofOthers"}], "differences": [{"property", "records"}], "unmapped": [{"field",
    /// "records"}]}`.
    package var json: JSONObject {
        func list<Element>(_ elements: [Element], _ members: (Element) -> JSONObject) -> JSONValue {
            .array(elements.map { .object(members($0)) })
        }
        func number(_ count: Int) -> JSONValue { .integer(Int64(count)) }
        return [
            "records": number(counts.records), "complete": number(counts.complete), "differs": number(counts.differs),
            "incomplete": number(counts.incomplete), "missing": number(counts.missing),
            "refused": number(counts.refused), "passwordsTaken": number(counts.passwordsTaken),
            "passwordsMissing": number(counts.passwordsMissing), "emailsShared": number(counts.emailsShared),
            "loginsShared": number(counts.loginsShared), "droppedRecords": number(dropped.records),
            "droppedValues": number(dropped.values),
            "identities": list(identities.sorted { $0.key.text < $1.key.text }) { provider, count in
                [
                    "provider": .string(provider.text), "here": number(count.here), "missing": number(count.missing),
                    "ofOthers": number(count.ofOthers),
                ]
            },
            "differences": list(differences.sorted { ($1.value, $0.key) < ($0.value, $1.key) }) { name, count in
                ["property": .string(name), "records": number(count)]
            },
            "unmapped": list(unmapped) { ["field": .string($0.name), "records": number($0.count)] },
        ]
    }
}
