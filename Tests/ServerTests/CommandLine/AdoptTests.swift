import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// The customers table of a shop that did not know this service: an integer key, and 1,000 rows.
private enum Shop {
    static let table = """
        create table public.customers (
            id serial primary key,
            mail varchar(200),
            full_name text,
            phone_number text,
            points integer,
            facebook_id bigint unique,
            note text not null default 'kept',
            created_at timestamptz not null default now()
        );
        insert into customers (mail, full_name, phone_number, points, note, created_at)
            select format('p%s@example.com', n), format('Person %s', n), n::text, n, 'mine',
                timestamptz '2020-01-01 00:00+00' + make_interval(mins => n)
            from generate_series(1, 1000) n;
        create table public.orders (id serial primary key, customer integer not null references customers);
        insert into orders (customer) values (5);
        """

    static let options = [
        "--table", "public.customers", "--id", "id", "--email", "mail", "--name", "full_name",
        "--created", "created_at", "--property", "phone=phone_number", "--facebook-id", "facebook_id",
    ]

    /// The SQL of the table's original contents.
    static let former = """
        select id, mail, full_name, phone_number, points, facebook_id, note, created_at from customers
        where id <= 1000 order by id
        """

    /// Runs the command as the application's operator.
    static func adopt(
        _ document: Document,
        _ options: [String] = options,
        on database: TestDatabase
    ) async throws -> ManagedProcess {
        try await runFederation(
            ["adopt", document.application] + options,
            environment: document.environment(database: database)
        )
    }
}

@Suite(
    "An application whose users are in a table that was there before",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            properties: """
                {"city": {"type": "STRING", "clientMappable": true}, "points": {"type": "INT", "clientMappable": true}}
                """,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        sql: Shop.table
    )
)
struct AdoptedApplicationTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func server(_ method: String, _ endpoint: String, _ json: String? = nil) async throws -> HTTPReply {
        try await deployment.send(method, endpoint, json, key: Canary.serverAPIKey)
    }

    private func federation(_ arguments: String...) async throws -> ManagedProcess {
        try await runFederation(
            arguments,
            environment: deployment.documents[0].environment(database: deployment.database)
        )
    }

    @Test("the service goes on while the table is adopted, and then its rows are the users")
    func story() async throws {
        let database = deployment.database
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com", "name": "Ann"}"#)
        try await database.psql("update customers set facebook_id = \(ann.id) where id = 7")
        let before = try await database.psql(Shop.former)

        let adoption = Task { [deployment] in
            try await Shop.adopt(deployment.documents[0], Shop.options + ["--yes"], on: deployment.database)
        }
        // Requests that read users and create none.
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var worst = 0
                    for _ in 0..<20 {
                        worst = max(worst, try await server("POST", "data/Users/find", "{}").status)
                        worst = max(worst, try await deployment.get("users/isvalidusertoken/x").status)
                    }
                    return worst
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let adopted = try await adoption.value
        #expect(adopted.exitStatus == .exited(0), "\(adopted.standardError)")
        #expect(statuses.allSatisfy { $0 < 500 || $0 == 503 }, "\(statuses)")
        #expect(try await database.psql(Shop.former) == before)

        try await eventually("the instance has heard of it") {
            try await server("GET", "data/Users?where=phone%3D'7'").status == 200
        }
        let login = try await deployment.loggedIn(ann)
        #expect(!login.created && login.user["phone"]?.string == "7")
        #expect(try await deployment.value("select id from customers where object_id = '\(login.objectID)'") == "7")

        let found = try await server("POST", "data/Users/find", #"{"where": "points > 998", "sortBy": ["points"]}"#)
        let points = JSON.value(found.text)?.array?.compactMap { $0.object?["points"]?.integer }
        #expect(points == [999, 1000], "\(found.text)")
        #expect(try await server("GET", "data/Users/count").text == "1000")

        let bob = try await deployment.register("bob.canary@example.com", #""city": "Bern""#)
        let session = try await deployment.logIn("bob.canary@example.com")
        let update = try await deployment.send(
            "PUT",
            "users/\(session.objectID)",
            #"{"city": "Basel", "points": 3}"#,
            token: session.token
        )
        #expect(update.status == 200, "\(update.text)")
        let row = try await database.psql(
            "select mail, city, points, note from customers where object_id = '\(session.objectID)'"
        )
        #expect(row == [["bob.canary@example.com", "Basel", "3", "kept"]])
        #expect(bob["objectId"]?.string == session.objectID)

        let erased = try await federation("user", "erase", "demo", session.objectID, "--confirm", session.objectID)
        #expect(erased.exitStatus == .exited(0), "\(erased.standardError)")
        #expect(try await server("GET", "data/Users/count").text == "1000")
        let kept = try #require(try await deployment.value("select object_id from customers where id = 5"))
        let blocked = try await federation("user", "erase", "demo", kept, "--confirm", kept)
        #expect(blocked.exitStatus != .exited(0), "an order refers to the row")

        for arguments in [
            ["set", "applications/demo/properties/shoe", "type=INT"],
            ["patch", "applications/demo/properties/shoe", "type=DOUBLE"],
            ["patch", "applications/demo/properties/phone", "name=mobile"],
            ["delete", "applications/demo/properties/shoe", "--confirm", "shoe"],
            ["delete", "applications/demo/properties/mobile", "--confirm", "mobile"],
        ] {
            let changed = try await runFederation(
                arguments,
                environment: deployment.documents[0].environment(database: database)
            )
            #expect(changed.exitStatus == .exited(0), "\(arguments): \(changed.standardError)")
        }
        #expect(try await federation("migrate").exitStatus == .exited(0))
        #expect(try await database.psql(Shop.former).count == 1000)
        #expect(try await database.psql("select distinct phone_number is null from customers") == [["f"]])
        #expect(try await deployment.loggedIn(ann).objectID == login.objectID)

        let again = try await Shop.adopt(deployment.documents[0], on: database)
        #expect(again.exitStatus == .exited(65) && again.standardError.contains("already"), "\(again.standardError)")
    }
}

@Suite("federation adopt")
struct AdoptTests {
    private static let document = Document(properties: #"{"city": {"type": "STRING"}, "points": {"type": "INT"}}"#)

    private static let shop = DatabaseTemplate(name: "shop") { database in
        try await database.psql(file: PackageLayout.path("schema.sql"))
        try await document.apply(to: database)
        try await database.psql(Shop.table)
    }

    /// Lends a database with the shop's table and an application without users, in which the SQL has been run.
    private func withShop<Result>(_ sql: String, _ body: (TestDatabase) async throws -> Result) async throws -> Result {
        try await withDatabase(Self.shop) { database in
            try await database.psql(sql)
            return try await body(database)
        }
    }

    /// Returns the state of the whole database, without random values and times.
    private func state(_ database: TestDatabase) async throws -> String {
        let dumped = try await run("pg_dump", ["--schema-only", "--dbname", database.url])
        #expect(dumped.exitStatus == .exited(0), "\(dumped.standardError)")
        let rows = try await database.psql(
            """
            select to_jsonb(c) - 'object_id' from customers c
            union all select to_jsonb(p) from federation.properties p
            union all select to_jsonb(c) from federation.adopted_columns c
            union all select to_jsonb(t) - 'adopted' from federation.adopted_tables t
            union all select to_jsonb(l) - 'happened' from federation.audit_log l
            union all select to_jsonb(i) - 'object_id' - 'created' - 'last_used' from demo.identities i
            union all select to_jsonb(revision) from federation.configuration order by 1
            """
        )
        let schema = dumped.standardOutput.split(separator: "\n").filter { !$0.contains("restrict ") }
        return schema.joined(separator: "\n") + rows.map { $0[0] ?? "" }.joined(separator: "\n")
    }

    @Test("a dry run changes nothing, and what it prints does by psql what --yes does")
    func dryRun() async throws {
        let people = "update customers set facebook_id = 1000 + id where id < 10"
        let byPsql = try await withShop(people) { database in
            let before = try await state(database)
            let printed = try await Shop.adopt(Self.document, on: database)
            #expect(printed.exitStatus == .exited(0), "\(printed.standardError)")
            #expect(try await state(database) == before)
            try await Document.withFile(printed.standardOutput) { try await database.psql(file: $0) }
            return try await state(database)
        }
        let byCommand = try await withShop(people) { database in
            let done = try await Shop.adopt(Self.document, Shop.options + ["--yes"], on: database)
            #expect(done.exitStatus == .exited(0), "\(done.standardError)")
            return try await state(database)
        }
        #expect(byPsql == byCommand)
        #expect(byPsql.contains("CREATE VIEW demo.users"))
    }

    @Test("everything that is in the way is said at once, and nothing has changed")
    func refusals() async throws {
        let usual = Shop.options
        func with(_ replacements: [String: String], _ more: String...) -> [String] {
            usual.map { replacements[$0] ?? $0 } + more
        }
        let cases: [(sql: String, options: [String], words: [String])] = [
            ("", with(["public.customers": "public.nobody"]), ["The table public.nobody does not exist"]),
            ("", with(["public.customers": "federation.properties"]), ["of this service"]),
            ("", with(["public.customers": "not a name;"]), ["does not exist"]),
            ("create view v as select * from customers", with(["public.customers": "v"]), ["no plain table"]),
            ("create unlogged table v (id int primary key)", with(["public.customers": "v"]), ["unlogged"]),
            ("create table v () inherits (customers)", usual, ["parts"]),
            ("create rule r as on insert to customers do instead nothing", usual, ["has rules"]),
            ("", with(["id": "note"]), ["/note: is not a unique key"]),
            ("", with(["mail": "nobody"]), ["/nobody: is not a column"]),
            (
                "alter table customers add b text not null default ''; alter table customers alter b drop default",
                usual, ["/b: is NOT NULL without a default"]
            ),
            ("alter table customers alter mail type char(200)", usual, ["/mail: is character, and email is STRING"]),
            ("alter table customers alter mail set not null", usual, ["/mail: is NOT NULL", "required=true"]),
            ("alter table customers add city numeric", usual, ["/city: is numeric, and city is STRING"]),
            ("", with([:], "--property", "fee=phone_number"), ["/phone_number: is used twice"]),
            ("alter table customers add fee numeric", with([:], "--property", "fee=fee"), ["/fee: is numeric, wh"]),
            ("", with([:], "--property", "roles=note"), ["/roles: is reserved"]),
            ("", with([:], "--property", "a-b=note"), ["/a-b: is not a valid name"]),
            ("alter table customers alter created_at drop not null", usual, ["/created_at: cannot be the time"]),
            ("", with([:], "--facebook-app", "1"), ["/facebook_id: has ids of one app", "1234567890"]),
            ("insert into demo.users (object_id) values (gen_random_uuid())", usual, ["already has users"]),
            (
                "create table notes (of uuid references demo.users)", usual,
                ["Rows of notes refer to"]
            ),
            (
                "alter table customers alter mail set not null, alter created_at drop not null",
                usual, ["/mail: ", "/created_at: "]
            ),
        ]
        for (sql, options, words) in cases {
            try await withShop(sql.isEmpty ? "select 1" : sql) { database in
                let before = try await state(database)
                let refused = try await Shop.adopt(Self.document, options + ["--yes"], on: database)
                #expect([.exited(65), .exited(66)].contains(refused.exitStatus), "\(sql) \(refused.standardError)")
                for word in words { #expect(refused.standardError.contains(word), "\(refused.standardError)") }
                #expect(try await state(database) == before)
            }
        }
    }

    @Test("what an operator should know is said: addresses in doubt, rows that refer to users, columns unseen")
    func remarks() async throws {
        try await withShop(
            """
            update customers set mail = 'none' where id = 1;
            update customers set mail = 'P3@example.com' where id = 2
            """
        ) { database in
            let printed = try await Shop.adopt(Self.document, on: database)
            for words in [
                "1 values of mail are not e-mail addresses", "1 values of mail are repeated addresses", "orders",
                "Hidden from clients: id, facebook_id, note",
            ] {
                #expect(printed.standardOutput.contains(words), "\(words) in \(printed.standardOutput.prefix(1000))")
            }
        }
    }

    private static let many = """
        insert into customers (mail, full_name)
            select format('q%s@example.com', n), repeat('x', 500) from generate_series(1, 12000) n;
        """

    private func notNull(_ column: String, of table: String, _ database: TestDatabase) async throws -> [[String?]] {
        try await database.psql(
            "select attnotnull from pg_attribute where attrelid = '\(table)'::regclass and attname = '\(column)'"
        )
    }

    @Test("rows of a large table get their object ids while others write, and no column of theirs changes")
    func largeTable() async throws {
        try await withShop(Self.many) { database in
            let digest = "select count(*), sum(hashtext(mail)) from customers where mail like 'q%'"
            let before = try await database.psql(digest)
            let file = try await database.psql("select pg_relation_filenode('customers')")
            // The state that an interrupted attempt leaves.
            try await database.psql(
                """
                create index customers_federation_email on customers (mail);
                update pg_index set indisvalid = false where indexrelid = 'customers_federation_email'::regclass
                """
            )
            let printed = try await Shop.adopt(Self.document, on: database)
            #expect(printed.standardOutput.contains("do $fill$"))
            let writing = Task {
                for n in 0..<200 {
                    try await database.psql(
                        """
                        insert into customers (mail) values ('r\(n)@example.com');
                        update customers set points = points + 1 where id % 200 = \(n)
                        """
                    )
                }
            }
            let done = try await Shop.adopt(Self.document, Shop.options + ["--yes"], on: database)
            #expect(done.exitStatus == .exited(0), "\(done.standardError)")
            try await writing.value
            #expect(try await database.psql("select pg_relation_filenode('customers')") == file, "it was not rewritten")
            let ids = try await database.psql("select count(distinct object_id), count(*) from customers")
            #expect(ids == [["13200", "13200"]])
            #expect(try await database.psql(digest) == before)
            #expect(try await notNull("object_id", of: "customers", database) == [["t"]])
            let index = try await database.psql(
                "select pg_get_indexdef(oid) like '%lower(%' from pg_class where relname = 'customers_federation_email'"
            )
            #expect(index == [["t"]])
        }
    }

    @Test("triggers on updates keep a large table from being filled, unless it may be rewritten")
    func triggers() async throws {
        try await withShop(
            """
            \(Self.many)
            create function touched() returns trigger language plpgsql as
                'begin new.note := ''touched''; return new; end';
            create trigger touching before update on customers for each row execute function touched()
            """
        ) { database in
            let refused = try await Shop.adopt(Self.document, Shop.options + ["--yes"], on: database)
            #expect(refused.exitStatus == .exited(65) && refused.standardError.contains("touching"))
            let done = try await Shop.adopt(Self.document, Shop.options + ["--rewrite", "--yes"], on: database)
            #expect(done.exitStatus == .exited(0), "\(done.standardError)")
            #expect(try await database.psql("select count(*) from customers where note = 'touched'") == [["0"]])
        }
    }

    @Test("a key that is a UUID is the object id, and nothing is added for it")
    func uuidKey() async throws {
        try await withDatabase(.schema) { database in
            try await Self.document.apply(to: database)
            try await database.psql(
                """
                create table people (key uuid primary key default gen_random_uuid(), email text);
                insert into people values ('11111111-1111-4111-8111-111111111111', 'a@example.com')
                """
            )
            let done = try await Shop.adopt(Self.document, ["--table", "people", "--id", "key", "--yes"], on: database)
            #expect(done.exitStatus == .exited(0), "\(done.standardError)")
            let rows = try await database.psql("select object_id, email, user_status from demo.users")
            #expect(rows == [["11111111-1111-4111-8111-111111111111", "a@example.com", "ENABLED"]])
            #expect(try await notNull("object_id", of: "people", database).isEmpty)
        }
    }
}
