import Foundation

/// A month of logins in the login log, written by SQL, and the console pages that show them.
struct LoginHistory {
    let database: Database
    let users: Int
    let rows: Int

    /// Milliseconds of thirty days.
    private static let month = 2_592_000_000

    /// Writes the rows and counts of the log.
    ///
    /// Of a hundred logins seven are refused, three create a user, and seventy are with Facebook. The schema's indexes
    /// are built afterwards, so that ten million rows take only minutes.
    ///
    /// - Returns: The size of the log with its indexes in bytes.
    func write() async throws -> Int {
        let indexes = try await database.rows(
            of: """
                select indexdef, indexname from pg_indexes
                where schemaname = 'federation' and tablename = 'login_log' and indexname <> 'login_log_pkey'
                """
        )
        for index in indexes { try await database.rows(of: "drop index federation.\(index[1])") }
        let batch = 500_000
        for first in stride(from: 1, through: rows, by: batch) {
            try await database.rows(
                of: """
                    insert into federation.login_log (id, happened, application_id, method, provider, credential, outcome,
                        reason, cause, object_id, request, source, milliseconds, user_agent, session)
                    select moment * 1024 + n % 1024, to_timestamp(moment / 1000.0), '\(Setting.application)',
                        case when n % 10 < 7 then 'provider' when n % 10 < 9 then 'password' else 'guest' end,
                        case when n % 10 < 7 then 'facebook' end,
                        case when n % 10 < 7 then 'access_token' when n % 10 < 9 then 'password' else 'guest' end,
                        outcome,
                        case when outcome = 'refused' then
                            case when n % 10 >= 7 then 'login_invalid'
                                else (array['credential_expired', 'credential_invalid', 'provider_timeout', 'permission_missing'])
                                    [(n / 7 % 4 + 1)::integer] end end,
                        case when outcome = 'refused' then 'Graph said that the session has been invalidated since then.' end,
                        case when outcome <> 'refused' then
                            left(lpad(to_hex(person * (4294967295 / \(users))), 8, '0') || md5(person::text), 32)::uuid end,
                        md5(n::text), '10.' || n % 7 || '.' || n % 251 || '.' || n % 113, 20 + n % 300,
                        'Shop/4.' || n % 9 || ' (iPhone; iOS 26.' || n % 4 || '; Scale/3.00) CFNetwork/3826 Darwin/25.1.0',
                        case when outcome <> 'refused' then md5((n + 1)::text) end
                    from (select n, (extract(epoch from now()) * 1000)::bigint - \(Self.month)
                                + n * \(Self.month) / \(rows) as moment,
                            n * 7919 % \(users) as person,
                            case when n % 101 < 7 then 'refused' when n % 101 < 10 then 'created' else 'updated' end as outcome
                        from generate_series(\(first)::bigint, \(min(first + batch - 1, rows))) n) n
                    """
            )
        }
        for index in indexes { try await database.rows(of: index[0]) }
        try await database.rows(
            of: """
                insert into federation.login_counts
                    (application_id, seconds, starts, method, provider, outcome, reason, logins, unlisted)
                select '\(Setting.application)', seconds, starts, method, provider, outcome, reason, 7, 0
                from (select 60 as seconds, generate_series(date_trunc('minute', now() - interval '25 hours'), now(),
                            '1 minute') as starts
                        union all
                        select 3600, generate_series(date_trunc('hour', now() - interval '30 days'), now(), '1 hour')) t,
                    (values ('provider', 'facebook'), ('password', ''), ('guest', '')) m (method, provider),
                    (values ('created', ''), ('updated', ''), ('refused', 'login_invalid'), ('refused', 'credential_expired'),
                        ('refused', 'credential_invalid'), ('refused', 'provider_timeout'),
                        ('refused', 'permission_missing')) o (outcome, reason)
                on conflict do nothing;
                insert into federation.audit_log (actor, source, application_id, action, target, happened)
                select 'ann', '127.0.0.1', '\(Setting.application)', 'user.read', n::text, now() - n * interval '10 seconds'
                from generate_series(1, 200000) n;
                """
        )
        try await database.rows(of: "vacuum analyze")
        let size = try await database.rows(of: "select pg_total_relation_size('federation.login_log')")
        return size.first?.first.flatMap { Int($0) } ?? 0
    }

    /// A console page, with its path for the n-th request.
    struct Page {
        let name: String
        let path: (Int) -> String

        init(_ name: String, _ path: @escaping (Int) -> String) { (self.name, self.path) = (name, path) }

        init(_ name: String, at path: String) { self.init(name) { _ in path } }
    }

    /// Returns every page of the console, with filters for frequent values and for some rare ones.
    func pages() async throws -> [Page] {
        let application = "/console/applications/\(Setting.application)"
        let people = try await database.rows(
            of: "select object_id, email from \(Setting.application).users tablesample system (0.01) limit 100"
        )
        let middle = try await database.rows(
            of: "select id from federation.login_log order by id offset \(rows / 2) limit 1"
        )
        let newest = try await database.rows(of: "select max(id) from federation.login_log")
        guard let half = middle.first?.first, let last = newest.first?.first, people.count > 0 else {
            throw UnexpectedReply(number: 0)
        }
        func person(_ number: Int) -> String { people[number % people.count][0].uppercased() }
        func address(_ number: Int) -> String {
            people[number % people.count][1].replacingOccurrences(of: "@", with: "%40")
        }
        return [
            Page("overview, an hour", at: "/console?hours=1"), Page("overview, a day", at: "/console"),
            Page("overview, a week", at: "/console?hours=168"), Page("applications", at: "/console/applications"),
            Page("application", at: application), Page("document", at: "\(application)/document"),
            Page("mapping", at: "\(application)/mappings/facebook"), Page("people", at: "\(application)/users"),
            Page("people by address") { "\(application)/users?by=email&q=\(address($0))" },
            Page("people by name") { "\(application)/users?by=name&q=Given\($0 * 9973)%20Family\($0 * 9973)" },
            Page("people by part of the name, many") { "\(application)/users?by=name&q=family\($0 % 10)" },
            Page("people by part of the name, few") { "\(application)/users?by=name&q=y\($0 * 9973)" },
            Page("people by part of the name, none", at: "\(application)/users?by=name&q=nob"),
            Page("people by status, none", at: "\(application)/users?status=DISABLED"),
            Page("people by provider", at: "\(application)/users?provider=facebook"),
            Page("people by provider, none", at: "\(application)/users?provider=password"),
            Page("people by objectId") { "\(application)/users?by=objectId&q=\(person($0))" },
            Page("people by id at a provider") { "\(application)/users?by=subject&q=\(People.subject($0 * 9973))" },
            Page("person") { "\(application)/users/\(person($0))" }, Page("logins", at: "/console/logins"),
            Page("logins, a week", at: "/console/logins?hours=168"),
            Page("logins of half the month ago", at: "/console/logins?cursor=\(half)"),
            Page("logins by application", at: "/console/logins?application=\(Setting.application)"),
            Page("logins by provider", at: "/console/logins?provider=facebook"),
            Page("logins by outcome", at: "/console/logins?outcome=refused"),
            Page("logins by reason", at: "/console/logins?reason=provider_timeout"),
            Page("logins by reason, none", at: "/console/logins?reason=mapping_invalid"),
            Page("logins by source") { "/console/logins?source=10.\($0 % 7).\($0 % 251).\($0 % 113)" },
            Page("logins by source, none", at: "/console/logins?source=203.0.113.7"),
            Page("logins by person") { "/console/logins?user=\(person($0))" },
            Page("logins by reason and provider, none", at: "/console/logins?provider=facebook&reason=login_invalid"),
            Page("logins by outcome and source") {
                "/console/logins?outcome=created&source=10.\($0 % 7).\($0 % 251).\($0 % 113)"
            },
            Page(
                "logins since 50 ago",
                at: "/console/logins/since/\((Int(last) ?? 0) - 45 * Self.month / rows * 1024)"
            ),
            Page("logins since half the month ago", at: "/console/logins/since/\(half)"),
            Page("audit log", at: "/console/audit"), Page("audit log by action", at: "/console/audit?action=user.read"),
            Page("audit log by actor, none", at: "/console/audit?actor=nobody"),
            Page("operators", at: "/console/operators"), Page("operator", at: "/console/operators/ann"),
            Page("own sessions", at: "/console/sessions"),
        ]
    }
}
