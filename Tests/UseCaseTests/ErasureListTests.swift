import Administration
import Domain
import Facebook
import Store
import Testing
import TestSupport

@Suite("Lists of ids to erase")
struct ErasureListTests {
    private static let reason = "list of 27 November"

    /// Lends an application with two Facebook apps, and users of both.
    private static func lend(eraseAfterDays days: Int = 0, _ body: (Office) async throws -> Void) async throws {
        try await Office.lend { office in
            _ = try await office.administration.providers.put(
                .facebook,
                of: "demo",
                json(
                    #"{"apps": [{"appId": "1", "appSecret": "a"}, {"appId": "2", "appSecret": "b"}], "eraseAfterDays": \#(days)}"#
                ),
                if: .any,
                by: Office.actor
            )
            try await office.database.psql(
                """
                insert into demo.users (object_id, name) select gen_random_uuid(), name
                    from unnest(array['Ann', 'Bob', 'Dan', 'Other']) name;
                insert into demo.identities (provider, provider_app, subject, object_id, created, last_used)
                    select i.provider, i.app, i.subject, u.object_id, now() - interval '1 day', now()
                    from demo.users u join (values
                        ('Ann', 'facebook', '1', '1001'), ('Bob', 'facebook', '1', '1002'),
                        ('Bob', 'twitter', 'global', '77'), ('Dan', 'facebook', '1', '1004'),
                        ('Other', 'facebook', '2', '1001')
                    ) i (name, provider, app, subject) using (name)
                """
            )
            try await body(office)
        }
    }

    private static func list(_ text: String, apps: [String] = ["1"], of provider: ProviderName = .facebook)
        -> ErasureList
    {
        ErasureList(Array(text.utf8), of: provider, apps: apps, in: "demo", reason: reason)
    }

    /// Runs a list and returns the outcome of each id with its line.
    private func run(_ list: ErasureList, _ office: Office, isDryRun: Bool = false) async throws -> [String] {
        var told: [String] = []
        let counts = try await office.administration.erasureLists.run(list, isDryRun: isDryRun, by: Office.actor) {
            told.append("\($0.line) \($0.app) \($0.outcome.rawValue)")
            #expect(isDryRun == ($0.code == nil))
            #expect(($0.outcome == .blocked) == ($0.obstacle == "public.orders"))
        }
        #expect(counts.values.reduce(0, +) == told.count)
        return told
    }

    private func names(_ office: Office) async throws -> [String?] {
        try await office.database.psql("select name from demo.users order by name").map { $0[0] }
    }

    @Test(
        "each id has an outcome; a look erases nobody; what is interrupted or blocked is done by the same list again"
    )
    func outcomes() async throws {
        try await Self.lend { office in
            try await office.database.psql(
                """
                create table public.orders (person uuid references demo.users);
                insert into public.orders select object_id from demo.users where name = 'Dan'
                """
            )
            let list = Self.list("1001\n\"1002\",\r\n\n 1003 \n1004\n1001\n")
            #expect(
                try await run(list, office, isDryRun: true) == ["1 1 user", "2 1 identity", "4 1 nobody", "5 1 user"]
            )
            #expect(try await names(office) == ["Ann", "Bob", "Dan", "Other"])
            #expect(try await office.database.psql("select count(*) from federation.deletion_requests") == [["0"]])

            #expect(try await run(list, office) == ["1 1 user", "2 1 identity", "4 1 nobody", "5 1 blocked"])
            #expect(try await names(office) == ["Bob", "Dan", "Other"])
            #expect(
                try await office.database.psql("select provider, subject from demo.identities order by 1, 2")
                    == [["facebook", "1001"], ["facebook", "1004"], ["twitter", "77"]]
            )
            try await office.database.psql("drop table public.orders")
            #expect(try await run(list, office) == ["1 1 done", "2 1 done", "4 1 done", "5 1 user"])
            #expect(try await names(office) == ["Bob", "Other"])

            let log = try await office.database.psql(
                """
                select action, actor, details -> 'to' ->> 'step', details -> 'to' ->> 'reason', details -> 'to' ->> 'user'
                from federation.audit_log where action in ('user.eraseList', 'user.erase', 'user.unlink') order by id
                """
            )
            #expect(log.first == ["user.eraseList", "ann", "begin", Self.reason, nil])
            #expect(log.filter { $0[2] == "end" }.map { $0[4] } == ["1", "1"])
            #expect(
                log.filter { $0[2] == nil }.map { [$0[0], $0[1]] }
                    == [["user.erase", "ann"], ["user.unlink", "ann"], ["user.erase", "ann"]]
            )
            let whole = try await office.database.psql(
                "select details::text from federation.audit_log where action = 'user.eraseList'"
            )
            #expect(!whole.description.contains("1001"))
        }
    }

    @Test("ids are of the apps that are named, and erasures wait as those of the provider's callback do")
    func appsAndDays() async throws {
        try await Self.lend(eraseAfterDays: 30) { office in
            #expect(
                try await run(Self.list("1001\n", apps: ["1", "2", "1"]), office) == ["1 1 waiting", "1 2 waiting"]
            )
            #expect(try await names(office).count == 4)
            // When a request is due, the service erases the user as it does for a provider's callback.
            let due = try await office.database.psql(
                "select provider_app, subject, due > now() + interval '29 days' from federation.deletion_requests order by 1"
            )
            #expect(due == [["1", "1001", "t"], ["2", "1001", "t"]])
        }
    }

    @Test("a list is refused as a whole, with its lines, before anything is done")
    func refusals() async throws {
        try await Self.lend { office in
            let lists = office.administration.erasureLists
            for (list, part) in [
                (Self.list("1001\nuser_id\n1002\n10x\n"), "2 lines are not a valid id of facebook: 2, 4."),
                (Self.list(String(repeating: "x\n", count: 12)), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"),
                (Self.list("\n \n"), "is empty"), (Self.list("1001", apps: []), "--app"),
                (Self.list("1001", apps: ["no app"]), "--app"),
                (Self.list("1001", of: ProviderName(known: "elsewhere")), "has no provider elsewhere"),
            ] {
                let refusal = try await failure { try await run(list, office) }
                #expect(refusal?.message.contains(part) == true, "\(refusal?.message ?? "")")
            }
            #expect(try await names(office).count == 4)
            #expect(try await lists.count(Self.list("\u{FEFF}1001\n1001\n1002")) == 2)
        }
    }
}
