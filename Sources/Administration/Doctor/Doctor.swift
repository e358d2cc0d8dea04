import Applications
package import Domain
package import Encodings
import Providers
import Secrets
import Store

/// A check of everything that the service depends on, with advice for each problem.
///
/// The check changes nothing. If a check fails, the failure is a finding, and the other checks still run.
package struct Doctor: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let providers: ProviderAdministration
    let changes: ApplicationChanges
    let secrets: SecretRotation
    let sendsMails: Bool
    /// The configuration with which this instance serves; nil in a process that serves no requests.
    let directory: ApplicationDirectory?
    let clock: WallClock

    /// The maximum number of applications that one check covers, if the operator names no application.
    static let maxApplications = 100

    /// Checks everything.
    ///
    /// - Parameters:
    ///   - application: The application to check. Nil checks the first hundred applications.
    ///   - askingProviders: Whether each app's id and secret is checked at its provider.
    /// - Returns: All findings, those of severity `ok` included.
    /// - Throws: `not_found` when there is no such application.
    package func examine(application: String? = nil, askingProviders: Bool = true) async throws(Failure) -> [Finding] {
        var findings: [Finding] = []
        do throws(Failure) {
            // PostgreSQL reads its clock between these two readings of this clock.
            let before = clock.milliseconds
            let facts = try await store.serverFacts()
            findings += facts.findings(now: before + (clock.milliseconds - before) / 2)
        } catch {
            // All other checks would fail for the same reason.
            return [Self.unseen(.database, error)]
        }
        do throws(Failure) {
            let version = try await store.schemaVersion()
            guard version == Store.expectedSchemaVersion else {
                return findings + [schema(version)]
            }
            findings.append(Finding(.ok, .schema, "The schema has version \(version)."))
        } catch { return findings + [Self.unseen(.schema, error)] }
        findings += await rights() + (await tables()) + (await indexes()) + (await copies())
        findings += await citusTimeouts() + (await keys())
        findings.append(
            sendsMails
                ? Finding(
                    .ok,
                    .mail,
                    "A mail server is configured. To test it: federation mail test --to you@example.com"
                )
                : Finding(
                    .warning,
                    .mail,
                    "No mails are sent, so users cannot reset passwords or confirm addresses.",
                    advice:
                        """
                        Set FEDERATION_SMTP_URL and FEDERATION_MAIL_FROM. Then test with: federation mail test --to \
                        you@example.com
                        """
                )
        )
        return findings + (try await applications(named: application, askingProviders: askingProviders))
    }

    /// Returns `{"worst": severity, "findings": [{"severity", "subject", "name"?, "text", "advice"?}]}`.
    package static func document(_ findings: [Finding]) -> JSONValue {
        let worst = Finding.Severity.allCases.last { severity in findings.contains { $0.severity == severity } } ?? .ok
        return .object([
            "worst": .string(worst.rawValue), "findings": .array(findings.map(\.json)),
        ])
    }

    private static func unseen(_ subject: Finding.Subject, of name: String? = nil, _ failure: Failure) -> Finding {
        Finding(
            .error,
            subject,
            of: name,
            "It cannot be checked: " + (failure.cause ?? failure.message),
            advice: subject == .database
                ? "Check that the server runs and that FEDERATION_DATABASE_URL is correct." : nil
        )
    }

    private func schema(_ version: Int) -> Finding {
        version > Store.expectedSchemaVersion
            ? Finding(
                .error,
                .schema,
                "The schema has version \(version), but this program only knows \(Store.expectedSchemaVersion).",
                advice: "Use the program version that migrated it, or a later one."
            )
            : Finding(
                .error,
                .schema,
                version == 0
                    ? "This database has no schema."
                    : "The schema has version \(version); this program needs \(Store.expectedSchemaVersion).",
                advice: "federation migrate"
            )
    }

    private func rights() async -> [Finding] {
        do throws(Failure) {
            let missing = try await store.missingRights()
            guard !missing.isEmpty else {
                return [Finding(.ok, .rights, "The database role has all rights that logins need.")]
            }
            return missing.map {
                Finding(
                    .error,
                    .rights,
                    "The database role has no right to \($0).",
                    advice: "Grant it: docs/operations/install.md#database-roles."
                )
            }
        } catch { return [Self.unseen(.rights, error)] }
    }

    private func tables() async -> [Finding] {
        do throws(Failure) {
            let ailing = try await store.ailingTables()
            return ailing.isEmpty
                ? [Finding(.ok, .statistics, "Tables are analyzed and have few dead rows.")]
                : ailing.map(\.finding)
        } catch { return [Self.unseen(.statistics, error)] }
    }

    private func indexes() async -> [Finding] {
        do throws(Failure) {
            let invalid = try await store.invalidIndexes()
            guard !invalid.isEmpty else { return [Finding(.ok, .indexes, "All indexes are valid.")] }
            return invalid.map {
                Finding(
                    .warning,
                    .indexes,
                    of: $0,
                    "This index is not valid and is not used.",
                    advice: "reindex index concurrently \($0)"
                )
            }
        } catch { return [Self.unseen(.indexes, error)] }
    }

    /// The maximum time for which Citus blocks writes when it moves tables to another node.
    ///
    /// It blocks writes at the end of the move, and checks once a second whether its copy of a table is complete. If a
    /// timeout of the service is shorter than this time, logins fail.
    private static let longestHold = Duration.seconds(3)

    private func citusTimeouts() async -> [Finding] {
        do throws(Failure) {
            guard let timeout = try await store.timeoutOnCitus(), timeout > .zero, timeout < Self.longestHold else {
                return []
            }
            return [
                Finding(
                    .warning,
                    .database,
                    "Timeouts are too short for a move of Citus: logins would fail at its end.",
                    advice: """
                        Set FEDERATION_DATABASE_LOCK_MILLISECONDS=5000 and \
                        FEDERATION_DATABASE_STATEMENT_MILLISECONDS=6000: docs/citus.md#moving-applications.
                        """
                )
            ]
        } catch { return [Self.unseen(.database, error)] }
    }

    private func copies() async -> [Finding] {
        do throws(Failure) {
            return try await store.localCopies().map {
                Finding(
                    .warning,
                    .application,
                    of: $0.application,
                    """
                    The Citus coordinator still has a copy of the users from before the distribution, \($0.bytes) \
                    bytes, including deleted users.
                    """,
                    advice: "Run truncate_local_data_after_distributing_table: docs/citus.md#placing-applications."
                )
            }
        } catch { return [Self.unseen(.database, error)] }
    }

    private func keys() async -> [Finding] {
        do throws(Failure) {
            var findings: [Finding] = []
            let known = try await store.knownMasterKeys()
            if !known.isEmpty, !known.contains(masterKeys.current.id) {
                let isReplacing = !Set(known).isDisjoint(with: masterKeys.ids)
                findings.append(
                    Finding(
                        isReplacing ? .warning : .error,
                        .keys,
                        of: masterKeys.current.id,
                        """
                        The database does not know the configured master key. It knows \(known.joined(separator: ", ")).
                        """,
                        advice: isReplacing
                            ? "Start the instances with both keys, then run: federation secrets rotate"
                            : "Set FEDERATION_MASTER_KEY (or FEDERATION_MASTER_KEY_FILE) to a key that it knows."
                    )
                )
            }
            let count = try await secrets.count()
            let current = count.object?["current"]?.string
            let others = (count.object?["secrets"]?.array ?? []).compactMap(\.object)
                .filter { $0["keyId"]?.string != current }
            findings += others.map { entry in
                let id = entry["keyId"]?.string ?? ""
                return entry["known"]?.bool == true
                    ? Finding(
                        .warning,
                        .keys,
                        of: id,
                        "Some secrets are still encrypted with the former master key.",
                        advice: "federation secrets rotate"
                    )
                    : Finding(
                        .error,
                        .keys,
                        of: id,
                        "Some secrets are encrypted with a master key that is not available.",
                        advice: "Set that key as FEDERATION_MASTER_KEY_PREVIOUS, or set the secrets again."
                    )
            }
            return findings.isEmpty
                ? [Finding(.ok, .keys, "All secrets are encrypted with the current master key.")] : findings
        } catch { return [Self.unseen(.keys, error)] }
    }

    private func applications(
        named name: String?,
        askingProviders: Bool
    ) async throws(Failure) -> [Finding] {
        var stored: [StoredApplication] = []
        if let name {
            stored = [try await changes.existing(name)]
        } else {
            do throws(Failure) {
                stored = try await store.applications(after: nil, limit: Self.maxApplications)
            } catch { return [Self.unseen(.application, error)] }
        }
        var findings: [Finding] = []
        for application in stored {
            let own = await self.findings(about: application, askingProviders: askingProviders)
            if own.allSatisfy({ $0.severity == .ok }) {
                findings.append(Finding(.ok, .application, of: application.id.text, "All checks passed."))
            }
            findings += own
        }
        return findings
    }

    private func findings(about application: StoredApplication, askingProviders: Bool) async -> [Finding] {
        let id = application.id.text
        // The application is loaded as an instance loads it. Doctor and readiness thus list the same problems.
        let loaded = LoadedApplication(application, masterKeys: masterKeys, kinds: kinds)
        let served = try? directory?.application(id: id[...])
        let learnt = served?.application.revision == application.revision ? served?.refusedMappings ?? [] : []
        var findings = (loaded.obstacles + learnt).map {
            Finding(
                .error,
                .application,
                of: id,
                $0,
                advice: "Apply its document again, or correct the named setting: federation get applications/\(id)."
            )
        }
        if application.keys.isEmpty {
            findings.append(
                Finding(
                    .warning,
                    .application,
                    of: id,
                    "It has no API key, so clients cannot call it.",
                    advice: "federation set applications/\(id)/keys/ios"
                )
            )
        }
        let demo = DemoValues.places(in: application)
        if !demo.isEmpty {
            findings.append(
                Finding(
                    .warning,
                    .application,
                    of: id,
                    "It has demo values of mappings/demo.json: \(demo.joined(separator: ", ")).",
                    advice: "Replace or remove them in its document, and apply it."
                )
            )
        }
        let warnings = application.overview(kinds)["warnings"]?.array?.compactMap(\.string) ?? []
        findings += warnings.map { Finding(.warning, .application, of: id, $0) }
        if let variable = application.database,
            let problem = await store.problem(at: variable, with: application)
        {
            let finding = Finding(
                .error,
                .database,
                of: id,
                "Its users cannot log in: \(problem).",
                advice: "docs/scaling.md#when-something-is-wrong."
            )
            return findings + [finding]
        }
        do throws(Failure) {
            for index in try await store.indexStates(of: application.place) where index.problem != nil {
                findings.append(
                    Finding(
                        .warning,
                        .indexes,
                        of: "\(id) \(index.property)",
                        "The index of this property could not be built: \(index.problem ?? "").",
                        advice: "Correct the cause, or declare the property without \"indexed\". The service retries."
                    )
                )
            }
        } catch { findings.append(Self.unseen(.indexes, of: id, error)) }
        for (name, provider) in application.providers.sorted(by: { $0.key.text < $1.key.text }) where provider.enabled {
            findings +=
                askingProviders
                ? await self.findings(about: name, of: id) : review(of: provider, named: name, in: application.id)
        }
        return findings
    }

    /// Returns warnings about a provider's options, such as an API version that the provider soon retires.
    ///
    /// It sends no request to the provider.
    private func review(
        of provider: StoredApplication.Provider,
        named name: ProviderName,
        in application: ApplicationID
    ) -> [Finding] {
        guard let kind = try? providers.kind(named: provider.kind) else { return [] }
        return providers.warnings(about: provider, named: name, of: kind, application: application)
            .map { Finding(.warning, .provider, of: "\(application) \(name)", $0) }
    }

    private func findings(about provider: ProviderName, of application: String) async -> [Finding] {
        let name = "\(application) \(provider)"
        do throws(Failure) {
            let check = try await providers.check(provider, of: application)
            let apps = (check.object?["apps"]?.array ?? []).compactMap(\.object)
            let texts =
                apps.compactMap { $0["problem"]?.string }
                + (check.object?["problems"]?.array ?? []).compactMap(\.string)
            let problems = texts.map {
                Finding(
                    .error,
                    .provider,
                    of: name,
                    $0,
                    advice: "federation provider check \(application) --provider \(provider)"
                )
            }
            let warnings = (check.object?["warnings"]?.array ?? []).compactMap(\.string)
                .map { Finding(.warning, .provider, of: name, $0) }
            guard problems.isEmpty, warnings.isEmpty else { return problems + warnings }
            return [Finding(.ok, .provider, of: name, "The provider accepts the apps and their secrets.")]
        } catch { return [Self.unseen(.provider, of: name, error)] }
    }
}
