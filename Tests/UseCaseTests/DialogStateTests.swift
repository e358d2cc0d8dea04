@testable import Accounts
@testable import Applications
import Domain
import Encodings
import Facebook
@testable import Logins
import Mapping
import Providers
@testable import Secrets
import Testing
import Twitter

@Suite("What is kept of a login through the server")
struct DialogStateTests {
    /// Returns a plan; a plan with a mapping belongs to an invited user.
    private static func plan(_ end: DialogEnd, mapping: JSONValue? = nil) -> DialogPlan {
        DialogPlan(
            provider: .facebook,
            appID: "1",
            redirectURI: "https://b.example/",
            mapping: mapping,
            end: end,
            invitation: mapping.map { _ in InvitationToken("T") }
        )
    }

    private static func object(_ text: Secret) throws -> JSONObject {
        try #require(try JSONParser.parse(text.reveal(), limits: .stored).object)
    }

    @Test("a state and a ticket are read as they were written, for each of their ends")
    func state() throws {
        for end in [
            DialogEnd.redirect(to: "https://a.example/", codeChallenge: nil),
            .redirect(to: "app:/done", codeChallenge: "c"), .popup(origin: "https://a.example"),
            .redirect(to: "https://a.example/", codeChallenge: "c", relaysTo: "https://p.example"),
        ] {
            for mapping in [nil, JSONValue.object(["email": .string("email")])] {
                let plan = Self.plan(end, mapping: mapping)
                func expectSame(_ read: DialogPlan) {
                    #expect(read.provider == .facebook)
                    #expect(read.appID == "1")
                    #expect(read.redirectURI == "https://b.example/")
                    #expect(read.mapping == mapping)
                    #expect("\(read.end)" == "\(end)")
                    #expect(read.invitation?.hash == mapping.map { _ in Digest.sha256("T") })
                }
                for (verifier, browser) in [(nil, nil), ("v", [UInt8]([1, 2, 3]))] {
                    let state = DialogState(
                        plan: plan,
                        codeVerifier: verifier.map(Secret.init),
                        browser: browser,
                        endsAt: 1_700_000_000
                    )
                    let read = try #require(DialogState(try Self.object(state.text)))
                    expectSame(read.plan)
                    #expect(read.codeVerifier?.reveal() == verifier)
                    #expect(read.browser == browser)
                    #expect(read.endsAt == 1_700_000_000)
                }
                for (permissions, type, configID) in [(nil, nil, nil), (["email"], .rerequest, "4711")]
                    as [([String]?, DialogAuthType?, String?)]
                {
                    let ticket = DialogTicket(
                        plan: plan,
                        wishes: DialogParameters(permissions: permissions, authType: type, configID: configID),
                        endsAt: 1_700_000_000
                    )
                    let read = try #require(DialogTicket(try Self.object(ticket.text)))
                    expectSame(read.plan)
                    #expect(read.wishes.permissions == permissions)
                    #expect(read.wishes.authType == type)
                    #expect(read.wishes.configID == configID)
                    #expect(read.endsAt == 1_700_000_000)
                }
            }
        }
        for text in [
            "{}", #"{"provider":"facebook","app":"1","redirectUri":"x","codeVerifier":"v","endsAt":1}"#,
            #"{"app":"1","redirectUri":"x","returnUrl":"y","endsAt":1}"#,
        ] {
            #expect(DialogState(try Self.object(Secret(text))) == nil)
            #expect(DialogTicket(try Self.object(Secret(text))) == nil)
        }
    }

    @Test(
        "T-70: a login without a challenge of the client's ends in the browser whose hash is in the state, and in no other"
    )
    func browser() {
        let kept = OneTimeToken(.system)
        let (redirect, popup) = (
            DialogEnd.redirect(to: "https://a.example/", codeChallenge: nil),
            DialogEnd.popup(origin: "https://a.example")
        )
        func isOf(_ kept: Secret?, _ browser: [UInt8]?, _ end: DialogEnd) -> Bool {
            end.isOf(kept?.reveal(), keptBy: browser)
        }
        for end in [redirect, popup] {
            #expect(isOf(kept.secret, kept.hash, end))
            #expect(!isOf(nil, kept.hash, end))
            #expect(!isOf(OneTimeToken(.system).secret, kept.hash, end))
            #expect(!isOf(kept.secret, nil, end), "a state that is nobody's")
            #expect(!isOf(nil, nil, end))
            #expect(!isOf(Secret(""), [], end))
        }
        #expect(isOf(nil, nil, .redirect(to: "https://a.example/", codeChallenge: "c")))
        let relay = DialogEnd.redirect(to: "https://a.example/", codeChallenge: "c", relaysTo: "https://p.example")
        #expect(isOf(kept.secret, kept.hash, relay) && !isOf(nil, kept.hash, relay))
    }

    @Test("T-70: a encrypted state opens for its application, in its time and unchanged, also after a new master key")
    func encrypted() throws {
        let (old, new) = (try Self.masterKey(1), try Self.masterKey(2))
        let (demo, other) = (try #require(ApplicationID("demo")), try #require(ApplicationID("other")))
        let state = DialogState(
            plan: Self.plan(.popup(origin: "https://a.example")),
            codeVerifier: Secret("v"),
            browser: [1],
            endsAt: 1000
        )
        let keys = MasterKeys(current: old)
        let encrypted = state.encrypted(under: keys, for: demo)
        func opens(_ encrypted: [UInt8], _ keys: MasterKeys, for application: ApplicationID, at now: Int64) -> Bool {
            DialogState(encrypted: encrypted, under: keys, for: application, now: now)?.plan.appID == "1"
        }
        #expect(opens(encrypted, keys, for: demo, at: 999))
        #expect(opens(encrypted, MasterKeys(current: new, previous: [old]), for: demo, at: 999))
        #expect(!opens(encrypted, keys, for: demo, at: 1000), "its time is over")
        #expect(!opens(encrypted, keys, for: other, at: 999), "another application's")
        #expect(!opens(encrypted, MasterKeys(current: new), for: demo, at: 999), "another key's")
        #expect(state.encrypted(under: keys, for: demo) != encrypted)
        #expect(DialogTicket(encrypted: encrypted, under: keys, for: demo, now: 999) == nil, "a state is no ticket")
        let ticket = DialogTicket(plan: state.plan, wishes: DialogParameters(), endsAt: 1000)
        #expect(!opens(ticket.encrypted(under: keys, for: demo), keys, for: demo, at: 999), "a ticket is no state")
        for index in encrypted.indices {
            var changed = encrypted
            changed[index] ^= 1
            #expect(!opens(changed, keys, for: demo, at: 999))
        }
        for length in 0..<encrypted.count { #expect(!opens(Array(encrypted.prefix(length)), keys, for: demo, at: 999)) }
    }

    private static func masterKey(_ byte: UInt8) throws -> MasterKey {
        try MasterKey(base64: Secret(String(repeating: byte == 1 ? "A" : "B", count: 43) + "="))
    }

    @Test(
        "a login that waits for its code is read as it was written",
        arguments: [(ProviderToken.Kind.access, true), (.id, false)]
    )
    func vouched(kind: ProviderToken.Kind, isListed: Bool) throws {
        let person = VerifiedIdentity(
            identity: IdentityKey(
                provider: .facebook,
                app: try #require(ProviderAppID("1")),
                subject: try #require(Subject("2"))
            ),
            profile: ["id": .string("2"), "name": .string("Ann \u{2028}"), "email": .string("a@b@c")],
            scopes: ["email"],
            scopesAreListed: isListed,
            declinedScopes: ["user_birthday"],
            dataAccessExpiresAt: 5,
            credentialExpiresAt: 6,
            providerSession: [1, 2]
        )
        let token = ProviderToken(kind: kind, text: Secret("EAAx"), expiresAt: 6)
        let login = VerifiedLogin(
            result: AuthenticationResult(
                verified: person,
                profile: AdmittedProfile(person.profile, by: .facebook),
                token: token
            ),
            mapping: .null,
            codeChallenge: "c",
            invitation: InvitationToken("T")
        )
        let read = try #require(VerifiedLogin(login.text, provider: .facebook))
        #expect(VerifiedLogin(login.text, provider: .twitter) == nil, "another provider's")
        #expect(!read.result.isRepeatable)
        #expect(read.result.verified.identity == person.identity)
        #expect(read.result.verified.profile["id"]?.string == "2")
        #expect(!login.text.reveal().contains("a@b@c"), "what does not fit is not kept")
        #expect(read.result.profile.json == login.result.profile.json)
        #expect(read.result.verified.scopes == ["email"])
        #expect(read.result.verified.scopesAreListed == isListed)
        #expect(read.result.verified.declinedScopes == ["user_birthday"])
        #expect(read.result.verified.dataAccessExpiresAt == 5)
        #expect(read.result.verified.credentialExpiresAt == 6)
        #expect(read.result.verified.providerSession == [1, 2])
        #expect(read.result.token?.kind == kind)
        #expect(read.result.token?.text.reveal() == "EAAx")
        #expect(read.result.token?.expiresAt == 6)
        #expect(read.codeChallenge == "c")
        #expect(read.invitation?.hash == Digest.sha256("T"))
        #expect(VerifiedLogin(Secret("{}"), provider: .facebook) == nil)
        let later = login.text.reveal().replacing(#""tokenKind":"\#(kind.rawValue)""#, with: #""tokenKind":"later""#)
        #expect(later != login.text.reveal())
        #expect(VerifiedLogin(Secret(later), provider: .facebook) == nil, "of a kind that only a later version knows")
        let former = login.text.reveal().replacing(#","tokenKind":"\#(kind.rawValue)""#, with: "")
        #expect(
            VerifiedLogin(Secret(former), provider: .facebook)?.result.token?.kind == .access,
            "a version before kinds"
        )
    }

    @Test(
        "the public URL is taken apart as it is written",
        arguments: [
            ("https://users.example.com", "users.example.com", "https://a.example"),
            ("https://Users.Example.com:8443/base", "users.example.com", "https://a.example:8443"),
            ("http://127.0.0.1:8080", "127.0.0.1", "http://a.example:8080"),
            ("http://[::1]:8080", "[::1]", "http://a.example:8080"), ("http://[::1]", "[::1]", "http://a.example"),
        ]
    )
    func publicURL(url: String, host: String, other: String) {
        #expect(PublicURL(url).host == host)
        #expect(PublicURL(url).withHost("a.example") == other)
    }

    @Test("where a login ends: the address asked for, a listed page's popup, the first address, or nowhere")
    func ends() throws {
        let (home, page) = (["https://a.example/1", "app:/2"], ["https://p.example"])
        func end(_ change: (inout DialogRequest) -> Void, _ home: [String], _ page: [String]) throws(Failure) -> String
        {
            var request = DialogRequest()
            change(&request)
            switch try DialogEnd(request, returnURLs: home, allowedOrigins: page) {
            case .redirect(let url, let challenge, let origin): return url + (challenge ?? "") + (origin ?? "")
            case .popup(let origin): return "popup " + origin
            }
        }
        #expect(try end({ _ in }, home, page) == home[0])
        let toApp = { (request: inout DialogRequest) in
            (request.redirectAfterLoginURL, request.codeChallenge) = ("app:/2", "#c")
        }
        #expect(try end(toApp, home, page) == "app:/2#c")
        // Any app on a device may claim the scheme, so the redirect to an app needs a challenge.
        for (change, home) in [({ $0.redirectAfterLoginURL = "app:/2" }, home), ({ _ in }, ["app:/2"])]
            as [((inout DialogRequest) -> Void, [String])]
        {
            let failure = #expect(throws: Failure.self) { try end(change, home, page) }
            #expect(failure?.reason == .malformedRequest)
        }
        #expect(try end({ $0.origin = page[0] }, home, page) == "popup https://p.example")
        #expect(try end({ $0.origin = page[0] }, [], page) == "popup https://p.example")
        #expect(
            try end(
                {
                    $0.origin = page[0]; $0.redirectAfterLoginURL = home[0]
                },
                home,
                page
            ) == home[0]
        )
        #expect(
            try end(
                {
                    $0.origin = page[0]; $0.codeChallenge = "#c"
                },
                home,
                page
            ) == home[0] + "#c"
        )
        // Without a list of origins every page may call, but no page may have a popup.
        #expect(try end({ $0.origin = page[0] }, home, []) == home[0])
        for (request, reason) in [
            ({ $0.origin = "null" }, Failure.Reason.providerNotConfigured), ({ _ in }, .providerNotConfigured),
            ({ $0.redirectAfterLoginURL = "app:/2" }, .malformedRequest),
            (
                {
                    $0.origin = page[0]; $0.codeChallenge = "c"
                }, .providerNotConfigured
            ),
        ] as [((inout DialogRequest) -> Void, Failure.Reason)] {
            let failure = #expect(throws: Failure.self) { try end(request, [], page) }
            #expect(failure?.reason == reason)
        }
    }

    @Test("what a client wants of Facebook's dialog is held to the forms of its names before anybody is sent there")
    func wishes() throws {
        let provider = try FacebookProvider.outOfReach()
        let right = [
            DialogParameters(), DialogParameters(permissions: ["email", "user_birthday"]),
            DialogParameters(permissions: [String(repeating: "a", count: 64)], configID: "4711"),
        ]
        for wishes in right { try provider.check(wishes) }
        let wrong = [
            DialogParameters(permissions: ["e\u{301}mail"]), DialogParameters(permissions: ["email", ""]),
            DialogParameters(permissions: [String(repeating: "a", count: 65)]), DialogParameters(configID: "1a"),
            DialogParameters(configID: String(repeating: "1", count: 33)),
        ]
        for wishes in wrong {
            let failure = #expect(throws: Failure.self, "\(wishes)") { try provider.check(wishes) }
            #expect(failure?.reason == .malformedRequest)
        }
    }

    @Test("what Facebook's dialog says in place of a code is told by our reasons")
    func answers() throws {
        let provider = try FacebookProvider.outOfReach()
        func failure(_ query: String) -> Failure? { provider.failure(in: DialogAnswer(LenientQuery(query))) }
        #expect(failure("state=s&code=c") == nil)
        #expect(failure("error=access_denied")?.reason == .loginCancelled)
        #expect(failure("error_reason=user_denied")?.reason == .loginCancelled)
        #expect(failure("error=server_error")?.reason == .providerUnavailable)
        let refused = failure("error_code=901")
        #expect(refused?.reason == .providerMisconfigured)
        #expect(refused?.details["graphCode"] == .integer(901))
        let unnumbered = failure("error_message=x")
        #expect(unnumbered?.reason == .providerMisconfigured)
        #expect(unnumbered?.details["graphCode"] == nil)
    }
}
