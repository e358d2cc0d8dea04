import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "federation check and apply",
    .serialized,
    .deployed(
        Document(
            properties: #"{"nick": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"name": "nick"}"#
        )
    )
)
struct ApplyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// A document with every kind of error.
    private static let wrong = """
        {"application": "wrong", "nonsense": 1, "settings": {"clientMapping": "yes", "sessionIdleSeconds": 1, "speed": 9},
         "keys": [{"label": "", "key": "plain-text-key"}], "providers": {"facebook": {"graphVersion": "25", "apps": [{"appId": "x"}]}},
         "properties": {"objectId": {"type": "STRING"}, "a-b": {"type": "STRING"}, "n": {"type": "NUMBER"}, "email": {"type": "INT"}},
         "mapping": {"facebook": [{"from": "email", "to": "email", "transfrom": "trim"}, {"from": "name"}]}}
        """

    @Test("check says everything that is wrong at once, each with its place, and needs no configuration")
    func check() async throws {
        let checked = try await Document.run("check", Self.wrong)
        #expect(checked.exitStatus == .exited(65))
        for place in [
            "nonsense", "settings/clientMapping", "settings/sessionIdleSeconds", "settings/speed", "keys/0/label",
            "keys/0/key", "providers/facebook/graphVersion", "providers/facebook/apps/0/appId", "properties/objectId",
            "properties/a-b", "properties/n/type", "properties/email/type", "mapping/facebook/0/transfrom",
            "mapping/facebook/1/to",
        ] {
            #expect(checked.standardError.contains(".json: /\(place): "), "\(place) in \(checked.standardError)")
        }
        #expect(
            checked.standardError.split(separator: "\n").allSatisfy { $0.contains(".json: ") },
            "each line names its file"
        )
    }

    @Test("check accepts what is right, and the document that ships")
    func checkAccepts() async throws {
        let right = try await Document.run("check", deployment.documents[0].text)
        #expect(right.exitStatus == .exited(0))
        let demo = try await runFederation(["check", PackageLayout.path("mappings/demo.json")], environment: [:])
        #expect(demo.exitStatus == .exited(0), "\(demo.standardError)")
    }

    @Test("apply refuses a document that does not fit, with every problem, and changes nothing")
    func applyRefuses() async throws {
        try await deployment.database.psql("alter table demo.users add column stray integer not null default 1")
        var misfits = [Self.wrong]
        for (properties, mapping) in [
            (#"{"stray": {"type": "STRING"}}"#, "{}"), (#"{"nick": {"type": "INT"}}"#, "{}"),
            ("{}", #"{"name": "unknown"}"#),
            (#"{"n": {"type": "INT"}}"#, #"{"picture": "n"}"#),
            (#"{"must": {"type": "STRING", "required": true}}"#, "{}"),
            (#"{"d": {"type": "DATE"}}"#, #"[{"from": "birthday", "to": "d", "default": "soon"}]"#),
        ] {
            misfits.append(Document(properties: properties, mapping: mapping).text)
        }
        let environment = deployment.documents[0].environment(database: deployment.database)
        try await deployment.expectNothingWritten {
            for text in misfits {
                let applied = try await Document.run("apply", text, environment: environment)
                #expect(applied.exitStatus == .exited(65), "\(text): \(applied.standardError)")
                #expect(!applied.standardError.isEmpty)
            }
        }
        try await deployment.database.psql("alter table demo.users drop column stray")
    }

    @Test("apply refuses secrets that are missing or cannot be secrets, all at once and without repeating them")
    func secrets() async throws {
        let document = deployment.documents[0]
        var environment = document.environment(database: deployment.database)
        environment["API_KEY"] = "canary"
        environment["SECRET_1234567890"] = nil
        try await deployment.expectNothingWritten {
            let applied = try await Document.run("apply", document.text, environment: environment)
            #expect(applied.exitStatus == .exited(65))
            #expect(applied.standardError.contains("API_KEY") && applied.standardError.contains("SECRET_1234567890"))
            #expect(!applied.standardError.contains("canary"))
        }
    }

    @Test("applying the same document again changes nothing, and is no entry of the audit log")
    func idempotent() async throws {
        let what = """
            select to_jsonb(x) from (select application_id, provider, revision, document, active, created from federation.mappings union all
                select application_id, name, position, to_jsonb(p), client_mappable, null from federation.properties p) x
            """
        let columns =
            "select to_jsonb(c) from information_schema.columns c where table_schema = 'demo' order by table_name, ordinal_position"
        let entries = "select to_jsonb(l) from federation.audit_log l where application_id = 'demo' order by id"
        let before = (try await deployment.rows(what), try await deployment.rows(columns))
        let log = try await deployment.rows(entries)
        try await deployment.documents[0].apply(to: deployment.database)
        let after = (try await deployment.rows(what), try await deployment.rows(columns))
        #expect(before.0 == after.0)
        #expect(before.1 == after.1)
        #expect(try await deployment.rows(entries) == log)
        #expect(log.count > 3, "each step of the first one is in it")
    }

    @Test("running instances see a change within 5 s")
    func change() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann", "first_name": "A"}"#)
        #expect(try await deployment.loggedIn(ann).user["nick"]?.string == "Ann")
        var document = deployment.documents[0]
        document.properties = #"{"nick": {"type": "STRING", "clientMappable": true}, "short": {"type": "STRING"}}"#
        document.mapping = #"{"name": "nick", "first_name": "short"}"#
        try await document.apply(to: deployment.database)
        let applied = ContinuousClock.now
        var late = applied
        try await eventually("the new property is filled", every: .milliseconds(100)) {
            let asked = ContinuousClock.now
            if try await deployment.loggedIn(ann).user["short"]?.string == "A" { return true }
            late = asked
            return false
        }
        // Compare with the start of the last login with the old behavior: the duration of a login does not count.
        #expect(late - applied < .seconds(5))

        // A key that the document no longer has is revoked.
        var other = document
        other.keyVariable = "OTHER_API_KEY"
        try await other.apply(to: deployment.database)
        try await eventually("the old key is refused", every: .milliseconds(100)) {
            try await deployment.login(ann, to: document).status == 401
        }
        #expect(try await deployment.login(ann, to: other).status == 200)
        try await document.apply(to: deployment.database)
        try await eventually("the key is back", every: .milliseconds(100)) {
            try await deployment.login(ann, to: document).status == 200
        }
    }
}
