import FoundationEssentials
import Postgres
@testable import Store
import Testing
import TestSupport

@Suite("Statements for the shards of an application")
struct ShardTextTests {
    private let shards = Shards(schema: "shop", numbers: ["users": 102_019, "sessions": 102_015, "passwords": 102_013])

    @Test("tables get the names of their shards, and values come from one array")
    func names() throws {
        let id = UUID()
        let statement: Statement = """
            with gone as (delete from "shop".sessions s where s.object_id = \(id) and s.token_hash <> \([1] as [UInt8]))
            select u."users", \("x") from "shop".users u where u.object_id = \(id)
            """
        #expect(
            shards.command(of: statement) == """
                with gone as (delete from "shop".sessions_102015 s where s.object_id = ($1)[1]::uuid and s.token_hash <> ($1)[2]::bytea)
                select u."users", ($1)[3]::text from "shop".users_102019 u where u.object_id = ($1)[4]::uuid
                """
        )
    }

    @Test("what stands in quotes stays as it is")
    func quotes() {
        let text = #"select '"shop".users $1 federation.applications it''s', u."$1" from "shop".users u"#
        #expect(
            shards.command(of: Statement(sql: text))
                == #"select '"shop".users $1 federation.applications it''s', u."$1" from "shop".users_102019 u"#
        )
    }

    @Test(
        "a statement that is about none of the tables, or about the configuration, too, goes as it is",
        arguments: [
            "select 1", #"select * from "other".users"#, #"drop schema if exists "shop" cascade"#,
            #"select * from "shop".report"#,
            #"select from "shop".users where exists (select from federation.applications)"#,
            #"select federation.user_columns('shop'), u.* from "shop".users u"#, #"select $1 from "shop".users"#,
        ]
    )
    func others(text: String) {
        #expect(shards.command(of: Statement(sql: text)) == nil)
    }

    @Test("what begins as a question and locks nothing only reads")
    func reads() {
        #expect(Shards.onlyReads(#"select u.* from "shop".users u where u.nick = 'for all'"#))
        #expect(!Shards.onlyReads(#"select from "shop".users u for no key update of u skip locked"#))
        #expect(!Shards.onlyReads(#"select from "shop".users for update"#))
        #expect(!Shards.onlyReads(#"with gone as (delete from "shop".users returning 1) select * from gone"#))
        #expect(!Shards.onlyReads(#"update "shop".users set nick = 'select'"#))
    }

    @Test("functions that are on every node may be called")
    func functions() {
        let text = #"select federation.has_ended('shop', '', now()) from "shop".users"#
        #expect(shards.command(of: Statement(sql: text)) == text + "_102019")
    }

    @Test("the statements of logins run in one piece, and name no table that is not a shard")
    func logins() throws {
        let folder = PackageLayout.path("Tests/StoreTests/Golden")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(files.count > 15)
        let tables = [
            "users", "identities", "sessions", "single_use", "passwords", "factors", "attempts", "user_roles",
            "trusted_devices", "email_proofs", "refresh_tokens", "firebase_users",
        ]
        let shards = Shards(schema: "shop", numbers: Dictionary(uniqueKeysWithValues: tables.map { ($0, 7) }))
        for file in files {
            // The first lines list the names of the parameters.
            let golden = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            let text = golden.split(separator: "\n").filter { !$0.hasPrefix("--") }.joined(separator: "\n")
            let command = shards.command(of: Statement(sql: text)) ?? ""
            let named = command.matches(of: /"shop"\.[a-z_0-9]+/)
            #expect(!named.isEmpty && named.allSatisfy { $0.output.hasSuffix("_7") }, "\(file)")
        }
    }

    @Test(
        "a message names the table and what of it, as on an ordinary server",
        arguments: [
            (
                #"duplicate key value violates unique constraint "passwords_login_key_102013""#, false,
                ["passwords", nil, "passwords_login_key"]
            ),
            (
                #"null value in column "nick" of relation "users_102019" violates not-null constraint"#, true,
                ["users", "nick", nil]
            ),
            (
                #"new row for relation "users_102019" violates check constraint "dynamic_is_bounded""#, false,
                ["users", nil, "dynamic_is_bounded"]
            ),
            (
                #"""
                update or delete on table "users_102019" violates foreign key constraint "invoices_buyer_fkey_102031" \#
                on table "invoices_102031"
                """#, false,
                ["invoices", nil, "invoices_buyer_fkey"]
            ),
            (#"relation "shop.users_102019" does not exist"#, false, ["users", nil, nil]),
        ] as [(String, Bool, [String?])]
    )
    func subjects(message: String, isColumn: Bool, expected: [String?]) throws {
        let subject = try #require(shards.subject(of: message, isColumn: isColumn))
        #expect([subject.table, subject.column, subject.constraint] == expected)
    }

    @Test("a message about another table is left alone")
    func otherTable() {
        let message = #"new row for relation "orders_7" violates check constraint "few""#
        #expect(shards.subject(of: message, isColumn: false) == nil)
    }
}
