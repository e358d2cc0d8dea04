import Accounts
import Applications
import Description
package import Domain
package import Encodings
import Import
import Providers
import Secrets
import Store

/// A list of users whose data must be erased, by their ids at a provider (subjects).
///
/// Providers send such lists to the owners of apps.
package struct ErasureList: Sendable {
    package let application: String
    package let provider: ProviderName
    /// The provider's apps to which the ids belong.
    ///
    /// The list is empty if the provider has one app, or if a user has the same id in all apps.
    package let apps: [String]
    /// The SHA-256 of the file with the ids.
    ///
    /// The hash identifies the file. A second run with the same file thus skips the ids that the first run has erased.
    package let fileHash: [UInt8]
    /// The operator's reason for the erasures, which the audit log records.
    package let reason: String
    /// The lines of the file, each with one id.
    ///
    /// A line that is too long is truncated.
    fileprivate let lines: [[UInt8]]

    /// Reads a file with one id on each line.
    ///
    /// The id may be in quotation marks, and a comma may follow.
    package init(
        _ file: [UInt8],
        of provider: ProviderName,
        apps: [String],
        in application: String,
        reason: String
    ) {
        self.application = application
        self.provider = provider
        self.apps = apps
        self.reason = reason
        var digest = FileDigest()
        digest.add(file)
        fileHash = digest.bytes
        let text = file.starts(with: [0xEF, 0xBB, 0xBF]) ? file.dropFirst(3) : file[...]
        lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            let rest = line.drop { Self.around.contains($0) }
            let end = rest.lastIndex { !Self.around.contains($0) } ?? rest.startIndex
            return Array(rest.isEmpty ? [] : rest[...end].prefix(Self.maxBytes))
        }
    }

    private static let around = Set(" \t\r\"',;".utf8)
    /// The maximum length of a line in bytes.
    ///
    /// It is greater than the length of any id.
    private static let maxBytes = 1024

    /// The allowed lengths of a reason in bytes.
    package static let reasons = 1...500

    /// The part of a list that one request erases: where it begins, and how many ids it has at most.
    ///
    /// A deadline may end the part earlier. The client sends further requests for the remaining lines.
    package struct Part: Sendable {
        /// The number of the last line that previous requests have processed; 0 for the first part.
        let line: Int
        /// The maximum number of ids in the part.
        let max: Int
        /// The time after which the request processes no further id.
        ///
        /// The request processes at least one id, even after this time.
        let end: ContinuousClock.Instant

        fileprivate func includes(anotherAfter count: Int) -> Bool { count < max && (count == 0 || .now < end) }
    }
}

/// The outcome of the erasure for one id of a list.
package struct ErasedID: Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        /// The user is erased: the account had no other login method.
        case user
        /// The identity is erased with its sessions. The user stays, since the account has another login method.
        case identity
        /// No user has the identity.
        case nobody
        /// The erasure is not due yet. It is due after the number of days in the provider's option `eraseAfterDays`.
        case waiting
        /// A previous run with this list has erased the user or the identity.
        case done
        /// The erasure failed. The service retries every ten minutes.
        case blocked
    }

    /// The number of the line that has the id.
    package let line: Int
    package let app: ProviderAppID
    package let outcome: Outcome
    /// The confirmation code of the deletion request; nil in a dry run.
    package let code: String?
    /// The reason why the erasure failed; nil if it did not fail.
    package let obstacle: String?
}

extension ErasedID {
    /// The outcome with the line number, but without the id.
    package var json: JSONObject {
        var object: JSONObject = [
            "line": .integer(Int64(line)), "appId": .string(app.text), "outcome": .string(outcome.rawValue),
        ]
        if let code { object.append("confirmationCode", .string(code)) }
        if let obstacle { object.append("obstacle", .string(obstacle)) }
        return object
    }
}

extension ErasureList {
    private static let members = ["provider", "ids", "reason", "apps", "after"]

    /// Reads the request of an operator: the list of ids, and the number of the line after which this request
    /// continues.
    ///
    /// - Throws: `document_invalid` with all problems.
    fileprivate static func read(
        _ document: JSONValue,
        of application: String
    ) throws(Failure) -> (list: ErasureList, line: Int) {
        guard let object = document.object else {
            throw DocumentProblems(JSONPointer(), "must be an object").failure
        }
        var problems = DocumentProblems()
        for member in object.members where !members.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(unknown: member.key, at: JSONPointer() / member.key, among: members)
        }
        let provider = object["provider"]?.string.flatMap { ProviderName($0) }
        if provider == nil { problems.add(JSONPointer() / "provider", "must be the name of a provider") }
        let ids = object["ids"]?.string
        if ids == nil { problems.add(JSONPointer() / "ids", "must be a text with one id per line") }
        let reason = object["reason"]?.string ?? ""
        if !reasons.contains(reason.utf8.count) {
            problems.add(JSONPointer() / "reason", "must be a text of 1 to \(reasons.upperBound) bytes")
        }
        let given = object.present("apps")
        let apps = given?.array?.compactMap(\.string) ?? []
        if let given, given.array?.count != apps.count {
            problems.add(JSONPointer() / "apps", "must be a list of ids of apps")
        }
        let line = object.present("after").map { $0.integer.flatMap { Int(exactly: $0) } ?? -1 } ?? 0
        if line < 0 { problems.add(JSONPointer() / "after", "must be next of the previous response") }
        guard problems.isEmpty, let provider, let ids else { throw problems.failure }
        let list = ErasureList(Array(ids.utf8), of: provider, apps: apps, in: application, reason: reason)
        return (list, line)
    }
}

/// Erases the users whose ids at a provider are in a list.
///
/// Each id becomes a deletion request, as if the provider had sent a data deletion callback.
package struct ErasureLists: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let kinds: ProviderKinds
    let erasures: Erasures
    let changes: ApplicationChanges
    let clock: WallClock
    let random: RandomSource

    /// The maximum number of invalid lines that an error names.
    private static let maxProblems = 10

    /// A list that has passed all checks.
    private struct Checked {
        let loaded: LoadedApplication
        let apps: [ProviderAppID]
        /// The ids (subjects) of the list without repetitions, each with the number of the first line that has it.
        let subjects: [(line: Int, subject: Subject)]
    }

    /// Returns the number of distinct ids in a list.
    ///
    /// - Throws: `document_invalid` for a line that is not an id, and for an invalid app id; `not_found`.
    package func count(_ list: ErasureList) async throws(Failure) -> Int { try await checked(list).subjects.count }

    /// Erases the users of a list, or reports the outcomes in a dry run.
    ///
    /// - Parameters:
    ///   - list: The list. All lines are checked before the first erasure.
    ///   - isDryRun: Whether the outcomes are reported without an erasure.
    ///   - actor: The operator. The audit log records the beginning with the reason, each erasure, and the end.
    ///   - tell: Receives the outcome of each id at each app, in the order of the list.
    /// - Returns: The number of ids for each outcome.
    /// - Throws: The errors of `count` and of `tell`, `store_unavailable` and similar errors. Another run with the same
    ///   list continues after the ids that are done.
    package func run(
        _ list: ErasureList,
        isDryRun: Bool,
        by actor: ChangeAuthor,
        telling tell: (ErasedID) throws -> Void
    ) async throws -> [ErasedID.Outcome: Int] {
        try await run(list, try await checked(list), nil, isDryRun: isDryRun, by: actor, telling: tell).counts
    }

    /// Erases the users of a part of a list; without a part, those of the whole list.
    ///
    /// - Returns: The number of ids for each outcome, and the line after which the rest begins. The line is nil at the
    ///   end of the list.
    private func run(
        _ list: ErasureList,
        _ checked: Checked,
        _ part: ErasureList.Part?,
        isDryRun: Bool,
        by actor: ChangeAuthor,
        telling tell: (ErasedID) throws -> Void
    ) async throws -> (counts: [ErasedID.Outcome: Int], next: Int?) {
        var counts: [ErasedID.Outcome: Int] = [:]
        var (treated, last, next) = (0, part?.line ?? 0, nil as Int?)
        if !isDryRun, last == 0 { try await note("begin", list, checked, nil, by: actor) }
        for (line, subject) in checked.subjects where line > (part?.line ?? 0) {
            guard part?.includes(anotherAfter: treated) ?? true else {
                next = last
                break
            }
            (treated, last) = (treated + 1, line)
            for app in checked.apps {
                let outcomes =
                    isDryRun
                    ? try await preview(subject, of: app, list, checked)
                    : try await erase(subject, of: app, list, checked, by: actor)
                for (outcome, code, obstacle) in outcomes {
                    counts[outcome, default: 0] += 1
                    try tell(ErasedID(line: line, app: app, outcome: outcome, code: code, obstacle: obstacle))
                }
            }
        }
        if !isDryRun { try await note(next == nil ? "end" : "part", list, checked, counts, by: actor) }
        return (counts, next)
    }

    /// The maximum number of ids that a request erases, and the time limit of a request.
    private static let portion: (max: Int, time: Duration) = (200, .seconds(5))

    /// Erases the users of a part of a list.
    ///
    /// The client sends further requests for the rest.
    ///
    /// - Parameters:
    ///   - document: `{"provider", "ids", "reason", "apps"?, "after"?}`. `ids` is the text of the file, the same in
    ///     each request. `after` is `next` of the previous response.
    ///   - application: The application whose users are erased.
    ///   - isDryRun: Whether the outcomes are reported without an erasure.
    ///   - confirmation: The application's id, as the operator has repeated it. A dry run needs no confirmation.
    ///   - actor: The operator, for the audit log.
    /// - Returns: `{"ids", "next", "outcomes": [{"line", "appId", "outcome", "confirmationCode"?, "obstacle"?}]}`.
    /// - Throws: `document_invalid`, `not_found`, `store_unavailable` and similar errors; `malformed_request` without
    ///   the confirmation.
    package func run(
        _ document: JSONValue,
        of application: String,
        isDryRun: Bool,
        confirmation: String?,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let (list, line) = try ErasureList.read(document, of: application)
        guard isDryRun || confirmation?.hasSameBytes(as: application) == true else {
            throw .unconfirmed(
                "Erasing the users of a list removes their identities and sessions",
                repeating: application
            )
        }
        let part = ErasureList.Part(line: line, max: Self.portion.max, end: .now + Self.portion.time)
        let checked = try await checked(list)
        var outcomes: [JSONValue] = []
        let next: Int?
        do {
            next = try await run(list, checked, part, isDryRun: isDryRun, by: actor) {
                outcomes.append(.object($0.json))
            }.next
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The list could not be processed.", cause: "\(error)")
        }
        return .object([
            "ids": .integer(Int64(checked.subjects.count)), "next": next.map { .integer(Int64($0)) } ?? .null,
            "outcomes": .array(outcomes),
        ])
    }

    private typealias Outcomes = [(ErasedID.Outcome, code: String?, obstacle: String?)]

    /// Returns the identities that an id of the list (subject) may have at an app.
    ///
    /// The service may have stored identities of one app under several provider names. The result has one identity for
    /// each of these names.
    private func identities(
        _ subject: Subject,
        of app: ProviderAppID,
        _ list: ErasureList,
        _ checked: Checked
    ) -> [IdentityKey] {
        checked.loaded.names(havingApp: app, of: list.provider).map {
            IdentityKey(provider: $0, app: app, subject: subject)
        }
    }

    private func preview(
        _ subject: Subject,
        of app: ProviderAppID,
        _ list: ErasureList,
        _ checked: Checked
    ) async throws(Failure) -> Outcomes {
        var outcomes: Outcomes = []
        for identity in identities(subject, of: app, list, checked) {
            let isOnly = try await store.isOnlyLoginMethod(identity, of: checked.loaded.application)
            let outcome: ErasedID.Outcome = isOnly.map { $0 ? .user : .identity } ?? .nobody
            outcomes.append((outcome, nil, nil))
        }
        return outcomes
    }

    private func erase(
        _ subject: Subject,
        of app: ProviderAppID,
        _ list: ErasureList,
        _ checked: Checked,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Outcomes {
        let loaded = checked.loaded
        let all = identities(subject, of: app, list, checked)
        // The same subject in the same list always gives the same deletion request.
        let call = Digest.sha256("list \(Hexadecimal.encode(list.fileHash)) \(app) \(subject)")
        let requests = all.map { identity in
            NewDeletionRequest(
                of: identity,
                in: call,
                issued: clock.milliseconds / 1000,
                days: loaded.eraseAfterDays(of: identity.provider) ?? 0,
                random: random
            )
        }
        var outcomes: Outcomes = []
        for stored in try await store.openDeletions(requests, of: loaded.application) {
            guard stored.done == nil else {
                outcomes.append((.done, stored.code, nil))
                continue
            }
            guard stored.due <= max(stored.requested, clock.milliseconds) else {
                outcomes.append((.waiting, stored.code, nil))
                continue
            }
            switch try await erasures.carryOut(code: stored.code, by: actor, of: loaded).erasure {
            // Another process has erased the user meanwhile.
            case .notOurs: outcomes.append((.done, stored.code, nil))
            case .nobody: outcomes.append((.nobody, stored.code, nil))
            case .identity: outcomes.append((.identity, stored.code, nil))
            case .user: outcomes.append((.user, stored.code, nil))
            case .blocked(let obstacle): outcomes.append((.blocked, stored.code, obstacle))
            }
        }
        return outcomes
    }

    private func note(
        _ step: String,
        _ list: ErasureList,
        _ checked: Checked,
        _ counts: [ErasedID.Outcome: Int]?,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        var details: JSONObject = [
            "step": .string(step), "provider": .string(list.provider.text),
            "apps": .array(checked.apps.map { .string($0.text) }),
            "ids": .integer(Int64(checked.subjects.count)), "reason": .string(list.reason),
            "file": .string(Hexadecimal.encode(list.fileHash)),
        ]
        for outcome in ErasedID.Outcome.allCases {
            if let counts { details.append(outcome.rawValue, .integer(Int64(counts[outcome] ?? 0))) }
        }
        try await store.recordErasureList(details, of: checked.loaded.application, by: actor)
    }

    // MARK: Checks

    private func checked(_ list: ErasureList) async throws(Failure) -> Checked {
        let stored = try await changes.existing(list.application)
        let loaded = LoadedApplication(stored, masterKeys: masterKeys, kinds: kinds)
        guard let kind = stored.providerKinds[list.provider].flatMap(kinds.named) else {
            throw Failure(.notFound, "\(stored.id) has no provider \(list.provider).")
        }
        let apps = try apps(list, of: stored, kind.subjects)
        var (seen, subjects): (Set<Subject>, [(line: Int, subject: Subject)]) = ([], [])
        var problems: [Int] = []
        for (index, bytes) in list.lines.enumerated() where !bytes.isEmpty {
            guard let subject = String(validating: bytes, as: UTF8.self).flatMap(kind.subjects.subject) else {
                problems.append(index + 1)
                continue
            }
            if seen.insert(subject).inserted { subjects.append((index + 1, subject)) }
        }
        guard problems.isEmpty else {
            let lines = problems.prefix(Self.maxProblems).map { "\($0)" }.joined(separator: ", ")
            throw Failure(
                .documentInvalid,
                """
                Nothing was done. \(problems.count == 1 ? "A line is" : "\(problems.count) lines are") not a valid id \
                of \(list.provider): \(lines)\(problems.count > Self.maxProblems ? ", …" : ""). Put one id on each \
                line, and nothing else.
                """
            )
        }
        guard !subjects.isEmpty else { throw Failure(.documentInvalid, "The list is empty.") }
        return Checked(loaded: loaded, apps: apps, subjects: subjects)
    }

    private func apps(
        _ list: ErasureList,
        of stored: StoredApplication,
        _ rule: SubjectRule
    ) throws(Failure) -> [ProviderAppID] {
        if rule.isGlobal {
            guard list.apps.isEmpty else {
                throw Failure(.documentInvalid, "Ids of \(list.provider) do not belong to an app: leave --app out.")
            }
            return [.global]
        }
        let known = stored.providers[list.provider]?.apps.map(\.id) ?? []
        guard !list.apps.isEmpty else {
            guard known.count == 1 else {
                throw Failure(
                    .documentInvalid,
                    """
                    Ids of \(list.provider) belong to one app each, and \(stored.id) has \(known.count) there. Name \
                    the app of the list with --app.
                    """
                )
            }
            return known
        }
        var apps: [ProviderAppID] = []
        for text in list.apps {
            // The service may still have identities of an app that was removed from the application.
            guard let app = ProviderAppID(text) else {
                throw Failure(.documentInvalid, "--app must be the id of an app at \(list.provider).")
            }
            if !apps.contains(app) { apps.append(app) }
        }
        return apps
    }
}
