@testable import Accounts
@testable import Administration
@testable import Applications
import Description
import Domain
import Encodings
import Facebook
import Logging
import Logins
@testable import Maintenance
import Providers
@testable import Secrets
import Store
import Testing
import TestSupport
import Twitter

@Suite("Instances of a kind of provider, under names that operators choose")
struct ProviderInstanceTests {
    private static let staff = ProviderName(known: "staff")
    private static let people = #"{"apps":[{"appId":"1","appSecret":"CANARY-people"}]}"#
    /// The same app as in `people`, with another secret: an app does not identify its provider.
    private static let employees =
        #"{"kind":"facebook","apps":[{"appId":"1","appSecret":"CANARY-staff","configId":"77"}],"nonce":"off","webhookVerifyToken":"CANARY-verify-token"}"#

    private static func put(_ office: Office, _ name: ProviderName, _ document: String) async throws -> Resource {
        try await office.administration.providers.put(name, of: "demo", json(document), if: .any, by: Office.actor)
    }

    /// Lends two providers of the kind Facebook, each with a mapping.
    private static func lend(_ body: (Office) async throws -> Void) async throws {
        try await Office.lend { office in
            _ = try await put(office, .facebook, people)
            _ = try await put(office, staff, employees)
            for (name, mapping) in [(ProviderName.facebook, #"{"email":"email"}"#), (staff, #"{"first_name":"name"}"#)]
            {
                _ = try await office.administration.mappings.put(
                    for: name,
                    of: "demo",
                    json(mapping),
                    if: .any,
                    by: Office.actor
                )
            }
            try await body(office)
        }
    }

    private static func loaded(_ office: Office) async throws -> LoadedApplication {
        let id = try #require(ApplicationID("demo"))
        return LoadedApplication(
            try #require(try await office.store.application(id)),
            masterKeys: MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey))),
            kinds: try .outOfReach()
        )
    }

    @Test("two of a kind have settings, apps and secrets of their own, and a change of one leaves the other alone")
    func twoOfAKind() async throws {
        try await Self.lend { office in
            let shown = try await office.administration.providers.read(Self.staff, of: "demo").body.object
            #expect(shown?["kind"]?.string == "facebook" && shown?["nonce"]?.string == "off")
            let facebook = try await office.administration.providers.read(.facebook, of: "demo").body.object
            #expect(facebook?["kind"] == nil, "what is called as its kind need not say so")
            #expect(facebook?["nonce"]?.string == "clientMade" && facebook?["webhookVerifyToken"]?.isNull == true)

            let loaded = try await Self.loaded(office)
            #expect(loaded.defect == nil)
            for (name, secret) in [(ProviderName.facebook, "CANARY-people"), (Self.staff, "CANARY-staff")] {
                let provider = try loaded.provider(name, as: (any CredentialVerifying).self)
                #expect(provider.name == name && provider.title == "Facebook")
                #expect(provider.apps.map { $0.secret.reveal() } == [secret], "\(name)")
            }
            #expect(
                try await office.database.psql(
                    "select provider, kind from federation.provider_settings order by provider"
                ) == [["facebook", "facebook"], ["staff", "facebook"]]
            )

            let before = try await office.administration.providers.read(.facebook, of: "demo").body
            let patched = try await office.administration.providers.change(
                Self.staff,
                of: "demo",
                patch: json(#"{"enabled":false,"proof":"classic"}"#),
                if: .any,
                by: Office.actor
            )
            #expect(patched.body.object?["enabled"]?.bool == false && patched.body.object?["nonce"]?.string == "off")
            #expect(try await office.administration.providers.read(.facebook, of: "demo").body == before)
            #expect(try await office.audit().last == "provider.staff.set staff")
            let off = try await Self.loaded(office)
            #expect(throws: Never.self) { try off.provider(.facebook) }
            let refusal = #expect(throws: Failure.self) { try off.provider(Self.staff) }
            #expect(refusal?.reason == .providerNotConfigured)
        }
    }

    @Test("a kind that is missing, unknown or another than before is refused with its place and what there is")
    func kinds() async throws {
        try await Self.lend { office in
            let app = #""apps":[{"appId":"1","appSecret":"CANARY"}]"#
            let consumer = #""apps":[{"consumerKey":"a","consumerSecret":"CANARY"}]"#
            let sso = ProviderName(known: "sso")
            for (name, document, pointer, said) in [
                (sso, "{\(app)}", "", "known: facebook, twitter, oidc, or give the kind of the provider as kind"),
                (Self.staff, "{\(app)}", "", "give the kind of the provider as kind"),
                (sso, #"{"kind":"openid",\#(app)}"#, "/kind", "must be one of facebook, twitter, oidc"),
                (sso, #"{"kind":7,\#(app)}"#, "/kind", "must be one of facebook, twitter, oidc"),
                (sso, #"{"kind":null,\#(app)}"#, "/kind", "must be one of facebook, twitter, oidc"),
                (sso, #"{"kind":"Facebook",\#(app)}"#, "/kind", "must be one of facebook, twitter, oidc"),
                (
                    Self.staff, #"{"kind":"twitter",\#(consumer)}"#, "/kind",
                    "cannot change: identities of staff have the kind facebook"
                ),
                (
                    .facebook, #"{"kind":"twitter",\#(consumer)}"#, "/kind",
                    "cannot change: identities of facebook have the kind facebook"
                ),
            ] {
                let refused = try await failure { try await Self.put(office, name, document) }
                #expect(refused?.reason == .documentInvalid, "\(name) \(document)")
                #expect(refused?.pointers == [pointer], "\(name) \(document)")
                let message = refused?.details["problems"]?.array?.first?.object?["message"]?.string
                #expect(message?.contains(said) == true, "\(message ?? "-")")
            }
            for (provider, pointer) in [
                (#""sso":{\#(app)}"#, "/providers/sso"),
                (#""sso":{"kind":"openid",\#(app)}"#, "/providers/sso/kind"),
                (#""password":{"kind":"facebook",\#(app)}"#, "/providers/password"),
                (#""Sso":{"kind":"facebook",\#(app)}"#, "/providers/Sso"),
                (#""staff":{"kind":"twitter",\#(consumer)}"#, "/providers/staff/kind"),
            ] {
                var places: [String]?
                do {
                    let document = try office.administration.documents.parse(
                        json(#"{"application":"demo","providers":{\#(provider)}}"#)
                    )
                    _ = try await office.administration.documents.plan(document, environment: { _ in nil })
                } catch let problems as DocumentProblems {
                    places = problems.problems.map(\.pointer.text)
                }
                #expect(places == [pointer], "\(provider)")
            }
            #expect(try await office.audit().count == 7, "none of it changed anything")
        }
    }

    @Test("a name that is reserved is given to no provider, and one that has it by now goes on")
    func reservedNames() async throws {
        try await Self.lend { office in
            for name in ["app-config", "backendless", "defaults", "oauth"] {
                let (provider, settings) = (try #require(ProviderName(name)), #"{"kind":"facebook","enabled":false}"#)
                let put = try await failure { try await Self.put(office, provider, settings) }
                #expect(put?.pointers == [""] && put?.message.contains("is reserved") == true, "\(name)")
                var places: [String]?
                do {
                    let document = try office.administration.documents.parse(
                        json(#"{"application":"demo","providers":{"\#(name)":\#(settings)}}"#)
                    )
                    _ = try await office.administration.documents.plan(document, environment: { _ in nil })
                } catch let problems as DocumentProblems {
                    places = problems.problems.map(\.pointer.text)
                }
                #expect(places == ["/providers/\(name)"])
            }
            try await office.database.psql(
                """
                insert into federation.provider_settings (application_id, provider, kind, enabled)
                values ('demo', 'oauth', 'facebook', false)
                """
            )
            let changed = try await office.administration.providers.change(
                .init(known: "oauth"),
                of: "demo",
                patch: json(#"{"proof":"classic"}"#),
                if: .any,
                by: Office.actor
            )
            #expect(changed.body.object?["proof"]?.string == "classic")
        }
    }

    @Test("an application has at most 50 providers, however they come in")
    func max() async throws {
        try await Self.lend { office in
            func document(_ count: Int) throws -> ApplicationDocument {
                let providers = (1...count).map { #""p\#($0)":{"kind":"facebook","enabled":false}"# }
                return try office.administration.documents.parse(
                    json(#"{"application":"demo","providers":{\#(providers.joined(separator: ","))}}"#)
                )
            }
            var places: [String]?
            do {
                _ = try await office.administration.documents.plan(try document(51), environment: { _ in nil })
            } catch let problems as DocumentProblems {
                places = problems.problems.map(\.pointer.text)
            }
            #expect(places == ["/providers"])
            _ = try await office.administration.documents.apply(
                try document(50),
                environment: { _ in nil },
                if: .any,
                by: Office.actor
            )
            let refused = try await failure { try await Self.put(office, Self.staff, Self.employees) }
            #expect(refused?.reason == .documentInvalid)
            #expect(refused?.message.contains("at most 50, and these are 51") == true, "\(refused?.message ?? "-")")
            _ = try await Self.put(office, .init(known: "p1"), Self.employees)

            // An application from before that limit may have more: no new provider is accepted, and everything else
            // works.
            try await office.database.psql(
                "insert into federation.provider_settings (application_id, provider, kind, enabled)"
                    + " select 'demo', 'q' || n, 'facebook', false from generate_series(1, 2) n"
            )
            _ = try await Self.put(
                office,
                .init(known: "p1"),
                Self.people.replacing("{", with: #"{"kind":"facebook","#, maxReplacements: 1)
            )
            let more = try await failure { try await Self.put(office, Self.staff, Self.employees) }
            #expect(more?.message.contains("at most 50, and these are 53") == true, "\(more?.message ?? "-")")
            try await office.administration.providers.remove(.init(known: "q1"), of: "demo", if: .any, by: Office.actor)
        }
    }

    @Test("T-118: people of an app are known under each name of its kind, whether a secret opens, and after a removal")
    func names() async throws {
        try await Self.lend { office in
            for (name, document) in [
                ("elsewhere", #"{"kind":"facebook","apps":[{"appId":"2","appSecret":"CANARY"}]}"#),
                ("gone", Self.employees),
                ("twitter", #"{"apps":[{"consumerKey":"1","consumerSecret":"CANARY"}]}"#),
            ] { _ = try await Self.put(office, try #require(ProviderName(name)), document) }
            try await office.administration.providers.remove(
                .init(known: "gone"),
                of: "demo",
                if: .any,
                by: Office.actor
            )
            let demo = try #require(ApplicationID("demo"))
            let stored = try #require(try await office.store.application(demo))
            let app = try #require(ProviderAppID("1"))
            for key in [Office.oldKey, Office.newKey] {
                let loaded = LoadedApplication(
                    stored,
                    masterKeys: MasterKeys(current: try MasterKey(base64: Secret(key))),
                    kinds: try .outOfReach()
                )
                #expect((loaded.defect == nil) == (key == Office.oldKey))
                for caller in [ProviderName.facebook, Self.staff] {
                    #expect(loaded.names(havingApp: app, of: caller).map(\.text) == ["facebook", "gone", "staff"])
                }
                #expect(loaded.names(havingApp: app, of: .twitter).map(\.text) == ["twitter"])
            }
        }
    }

    @Test("what was read and is put back changes nothing, secrets included")
    func putBack() async throws {
        try await Self.lend { office in
            for name in [ProviderName.facebook, Self.staff] {
                let read = try await office.administration.providers.read(name, of: "demo")
                let put = try await Self.put(office, name, read.body.text)
                #expect(put.tag == read.tag && put.body == read.body)
            }
        }
    }

    @Test("what is exported and applied changes nothing, over REST and from a file, and makes the same elsewhere")
    func exported() async throws {
        try await Self.lend { office in
            let exported = try await office.administration.documents.read(of: "demo").body
            let staff = exported.object?["providers"]?.object?["staff"]?.object
            #expect(staff?["kind"]?.string == "facebook")
            #expect(exported.object?["providers"]?.object?["facebook"]?.object?["kind"] == nil)
            let request = try office.administration.documents.parse(exported)
            let none: @Sendable (String) -> String? = { _ in nil }
            let applied = try await office.administration.documents.apply(
                request,
                environment: none,
                if: .any,
                by: Office.actor
            )
            #expect(applied.changes.map(\.line) == [])

            let environment = [
                "DEMO_FACEBOOK_APP_SECRET": "CANARY-people", "DEMO_STAFF_APP_SECRET": "CANARY-staff",
                "DEMO_STAFF_WEBHOOK_VERIFY_TOKEN": "CANARY-verify-token",
            ]
            func file(_ text: String) async throws -> [String] {
                let document = try ApplicationDocument(text: Array(text.utf8), kinds: try .outOfReach())
                return try await office.administration.documents.apply(
                    document,
                    environment: { environment[$0] },
                    if: .any,
                    by: Office.actor
                ).changes.map(\.action)
            }
            #expect(try await file(exported.text) == [])
            let elsewhere = exported.text.replacing(#""demo""#, with: #""other""#)
            #expect(
                try await file(elsewhere) == [
                    "application.create", "application.variables", "provider.facebook.set", "provider.facebook.apps",
                    "provider.staff.set", "provider.staff.apps", "mapping.facebook.set", "mapping.staff.set",
                ]
            )
        }
    }

    @Test("an instance under a name of its own goes with its mapping, and the application can be edited as before")
    func removal() async throws {
        try await Self.lend { office in
            let administration = office.administration
            // This name is another kind's: a mapping left behind would be checked against the fields of that kind.
            _ = try await Self.put(office, .init(known: "twitter"), Self.employees)
            for name in [Self.staff, .init(known: "twitter"), .facebook] {
                let mapping = try json(#"[{"from":"location.name","to":"name"}]"#)
                _ = try await administration.mappings.put(
                    for: name,
                    of: "demo",
                    mapping,
                    if: .any,
                    by: Office.actor
                )
                try await administration.providers.remove(name, of: "demo", if: .any, by: Office.actor)
                let gone = try await failure { try await administration.providers.read(name, of: "demo") }
                #expect(gone?.reason == .notFound)
                let left = try await administration.mappings.read(for: name, of: "demo").body.object?["entries"]
                #expect(left == (name == .facebook ? mapping : .array([])), "\(name)")
                _ = try await administration.applications.change(
                    "demo",
                    patch: json(#"{"name":"without \#(name)"}"#),
                    if: .any,
                    by: Office.actor
                )
            }
            let exported = try await administration.documents.read(of: "demo").body.object
            #expect(exported?["providers"] == nil)
            #expect(exported?["mapping"]?.object?["staff"] == nil && exported?["mapping"]?.object?["facebook"] != nil)
            let lost = try await failure {
                try await administration.mappings.put(
                    for: Self.staff,
                    of: "demo",
                    json(#"{"email":"email"}"#),
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(lost?.reason == .documentInvalid, "nothing says of what kind its fields are")
        }
    }

    @Test("T-34: a name keeps its kind when its provider is removed, since its identities are still there")
    func kindOfRemoved() async throws {
        try await Self.lend { office in
            try await office.administration.providers.remove(Self.staff, of: "demo", if: .any, by: Office.actor)
            let other = #"{"kind":"twitter","apps":[{"consumerKey":"a","consumerSecret":"CANARY"}]}"#
            let refused = try await failure { try await Self.put(office, Self.staff, other) }
            #expect(refused?.pointers == ["/kind"])
            _ = try await Self.put(office, Self.staff, Self.employees)

            // An instance of a former version adds and removes a provider like this.
            try await office.database.psql(
                """
                insert into federation.provider_settings (application_id, provider, kind, enabled)
                    values ('demo', 'former', 'facebook', true);
                delete from federation.provider_settings where provider = 'former'
                """
            )
            let former = try await failure { try await Self.put(office, ProviderName(known: "former"), other) }
            #expect(former?.pointers == ["/kind"])
        }
    }

    @Test("a mapping is of one instance, and is held to the fields of its kind")
    func mapping() async throws {
        try await Self.lend { office in
            for (name, target) in [(ProviderName.facebook, "email"), (Self.staff, "name")] {
                let shown = try await office.administration.mappingPreviews.preview(
                    for: name,
                    of: "demo",
                    json(#"{"profile":{"id":"1","first_name":"Ann","email":"ann@example.com"}}"#),
                    by: Office.actor
                )
                let entries = shown.object?["entries"]?.array ?? []
                #expect(entries.map { $0.object?["to"]?.string } == [target])
                #expect(entries.map { $0.object?["outcome"]?.string } == ["written"])
            }
            #expect(
                try await office.administration.mappings.read(for: Self.staff, of: "demo").body.object?["entries"]?.text
                    == #"[{"from":"first_name","to":"name"}]"#
            )
            let misfit = #"[{"from":"email.domain","to":"name"}]"#
            let refused = try await failure {
                try await office.administration.mappings.put(
                    for: Self.staff,
                    of: "demo",
                    json(misfit),
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(refused?.reason == .documentInvalid)
        }
    }

    @Test("a kind that only a later version knows keeps nobody from the other providers, and its own from being harmed")
    func laterKind() async throws {
        try await Self.lend { office in
            let administration = office.administration
            try await office.database.psql(
                """
                update federation.provider_settings set kind = 'openid', options = '{"issuer": 1}' where provider = 'staff'
                """
            )
            let log = Log()
            let directory = ApplicationDirectory(
                store: office.store,
                masterKeys: MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey))),
                kinds: try .outOfReach(),
                clock: .system,
                random: .system,
                logger: Logger(label: "test") { _ in log }
            )
            try await directory.refresh()
            let cause = "its provider staff has a kind that this version does not know"
            #expect(log.lines.contains("error provider cannot be used application=demo cause=\(cause)"))
            let loaded = try directory.application(id: "demo")
            #expect(loaded.defect == nil)
            #expect(throws: Never.self) { try loaded.provider(.facebook) }
            for refusal in [
                #expect(throws: Failure.self) { try loaded.provider(Self.staff) },
                #expect(throws: Failure.self) { try loaded.dialogs(of: Self.staff) },
                #expect(throws: Failure.self) { try loaded.caller(Self.staff, as: (any EventReporting).self) },
            ] {
                #expect(refusal?.reason == .providerMisconfigured && refusal?.cause == cause)
            }

            try await expectTokensKept(office, directory)

            _ = try await administration.applications.change(
                "demo",
                patch: json(#"{"name":"edited"}"#),
                if: .any,
                by: Office.actor
            )
            _ = try await administration.providers.change(
                .facebook,
                of: "demo",
                patch: json(#"{"proof":"classic"}"#),
                if: .any,
                by: Office.actor
            )
            #expect(
                try await office.database.psql(
                    "select kind, options->>'issuer' from federation.provider_settings where provider = 'staff'"
                ) == [["openid", "1"]]
            )
            let shown = try await failure { try await administration.providers.read(Self.staff, of: "demo") }
            #expect(shown?.reason == .notFound && shown?.message.contains("has the kind openid") == true)
            let put = try await failure { try await Self.put(office, Self.staff, Self.employees) }
            #expect(put?.pointers == ["/kind"])
            try await administration.providers.remove(Self.staff, of: "demo", if: .any, by: Office.actor)
            #expect(
                try await administration.mappings.read(for: Self.staff, of: "demo").body.object?["entries"]
                    == .array([])
            )
            #expect(try await office.audit().contains("provider.staff.remove staff"))
        }
    }

    /// Expects that background work deletes a removed provider's token, and keeps that of a provider of unknown kind.
    private func expectTokensKept(_ office: Office, _ directory: ApplicationDirectory) async throws {
        let user = "8A1F3C2E-6D1B-4C8A-9E7F-1B2C3D4E5F60"
        try await office.database.psql(
            """
            insert into demo.users (object_id) values ('\(user)');
            insert into demo.identities (provider, provider_app, subject, object_id, token, token_key_id, token_kind)
            select p, 'global', '1', '\(user)', '\\x00', 'key', 'access' from unnest(array['staff', 'gone']) p
            """
        )
        let maintenance = Maintenance(
            store: office.store,
            directory: directory,
            masterKeys: MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey))),
            settings: .init(),
            clock: .system,
            random: .system,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let work = Task { await maintenance.run() }
        try await eventually("the token of a provider that is gone is forgotten") {
            try await office.database.psql(
                "select 1 from demo.identities where provider = 'gone' and token is not null"
            ).isEmpty
        }
        work.cancel()
        await work.value
        #expect(
            try await office.database.psql("select provider from demo.identities where token is not null")
                == [["staff"]]
        )
    }
}
