import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import NIOCore
import Pages

/// The page of the service as a whole: secrets by master key, keys of signed tokens, background work and mails.
extension Console {
    func mountService(on router: Router<ManagementContext>) {
        page("/console/service", on: router) { visit in try await service(visit) }
        let again: ShowAgain = { visit, form, _ in try await service(visit, form) }
        action("/console/service/mails", on: router, again: again) { visit, form in
            var test: JSONObject = ["to": .string(try form.text("to"))]
            if let locale = try form.value("locale"), !locale.isEmpty { test.append("locale", .string(locale)) }
            return .page(try await service(visit, form, sent: try await visit.call(.post, ["mails"], test).object))
        }
        page("/console/service/mails/{template}/{language}", on: router) { visit in
            let place = MailPlace(visit)
            let mail = try await visit.object(place.call, query: place.query)
            return Page(
                title: mail.string("subject"),
                section: .service,
                trail: [("Service", "/console/service")],
                content: """
                    <p>The mail <code>\(place.template)</code> in the language <code>\(mail.string("language"))</code>, \
                    to somebody who is made up.</p>
                    <h2>As text</h2><pre class="mail">\(mail.string("text"))</pre>
                    <p><a class="button" href="\(place.path)/html" target="_blank" rel="noopener">As HTML</a></p>
                    """,
                command: "federation mail test --to ann@example.com --locale \(place.language)",
                call: "GET /admin/v1/mails/\(place.template)?language=\(place.language)"
            )
        }
        router.get("/console/service/mails/{template}/{language}/html") { request, context in
            try await answer(request, context) { visit in
                let place = MailPlace(visit)
                let mail = try await visit.object(place.call, query: place.query)
                let headers: HTTPFields = [
                    .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                    // The mail is an operator's own template with its own styles; the policy lets it do nothing but
                    // show.
                    .contentSecurityPolicy: """
                    sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'
                    """,
                    .resourcePolicy: "same-origin",
                ]
                let html = ByteBuffer(string: mail.string("html"))
                return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: html))
            }
        }
    }

    private struct MailPlace {
        let template: String
        let language: String

        init(_ visit: Visit) {
            template = visit.parameter("template")
            language = visit.parameter("language")
        }

        var path: String { consolePath("service", "mails", template, language) }
        var call: [String] { ["mails", template] }
        var query: [(name: String, value: String)] { [("language", language)] }
    }

    private func service(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        sent: JSONObject? = nil
    ) async throws -> Page {
        async let secrets = visit.part(["secrets"])
        async let keys = visit.part(["token-keys"])
        async let mails = visit.part(["mails"])
        async let background = visit.part(["background"], query: [("limit", "50")] + visit.cursor)
        let test = Self.test(visit, typed)
        return try await Page(
            title: "Service",
            section: .service,
            content: """
                \(sent.map(Self.outcome))
                <h2>Work in the background</h2>\(background.html(Self.background))
                <h2>Secrets by master key</h2>\(secrets.html(Self.secrets))
                <h2>Keys of signed tokens</h2>\(keys.html(Self.tokenKeys))
                <h2>Mails</h2>\(mails.html { mails in
                    "\(Self.mails(mails))\(test, if: mails.bool("sends") && visit.role >= .owner)"
                })
                """,
            command: "federation secrets status; federation list token-keys",
            call: "GET /admin/v1/secrets"
        )
    }

    /// Returns the outcome of a test mail.
    private static func outcome(_ sent: JSONObject) -> HTML {
        let answer = sent["answer"]?.string.map { " It says: \($0)" as HTML }
        guard sent.string("outcome") == "accepted" else {
            return .alert("The test did not go out: \(HTML.value(sent["problem"])).\(answer)")
        }
        return .notice("The mail server has taken the test.\(answer) Look into the mailbox, and into its spam.")
    }

    /// Returns a form that sends a test mail.
    private static func test(_ visit: Visit, _ typed: FormFields?) -> HTML {
        visit.form(
            to: "/console/service/mails",
            class: "search",
            """
            <label for="to">Send a test to</label><input id="to" name="to" type="email" required \
            value="\(typed.typed("to"))"><label for="locale">in</label><input id="locale" name="locale" size="6" \
            placeholder="de" value="\(typed.typed("locale"))"><button>Send it</button>
            """
        )
    }

    /// Returns the state of the background work.
    private static func background(_ background: JSONObject) -> HTML {
        let instance = background["instance"]?.object
        let trouble = instance?["hindered"]?.object.map { round -> HTML in
            let reasons = round.object("reasons").members.map { "\($0.key) \($0.value.text)" }
            let cause = round["cause"]?.string.map { " " + $0 } ?? ""
            return """
                <div class="alert"><p>At \(HTML.moment(round["at"])) something stood in the way: \
                \(reasons.joined(separator: ", ")).\(cause)</p></div>
                """
        }
        let kinds = [
            ("checks", "Checks of tokens"), ("erasures", "Erasures"), ("hinderedErasures", "Hindered"),
            ("mails", "Mails on their way"), ("postponedMails", "Tried in vain"),
        ]
        let items = background.objects("items")
        let table = HTML.table("What is due", of: items, ifEmpty: "There is no application.") { due in
            let id = due.string("application")
            let counts = kinds.map { name, title -> (String, HTML) in
                let count = due[name]?.integer.map { $0 < 1000 ? "\($0)" : "1,000 or more" }
                return (title, "\(count ?? due["problem"]?.string ?? "–")")
            }
            return [("Application", "<a href=\"\(consolePath("applications", id))\">\(id)</a>")] + counts
        }
        let state =
            instance.map { "<p>This instance's last round ended at \(HTML.moment($0["lastRound"])).</p>" as HTML }
            ?? "<p class=\"empty\">This instance does none.</p>"
        return """
            \(state)\(trouble)
            \(table)\(HTML.next(background["next"]?.string, of: "/console/service"))
            """
    }

    /// Returns the number of secrets under each master key; there are several keys during a rotation.
    private static func secrets(_ secrets: JSONObject) -> HTML {
        let current = secrets["current"]?.string
        let sealed = secrets.objects("secrets")
        let kinds = [
            ("count", "Secrets"), ("tokens", "Kept tokens"), ("passwords", "Passwords"), ("factors", "Factors"),
            ("tokenKeys", "Token keys"), ("banKeys", "Ban keys"), ("passing", "On their way"),
        ]
        let table = HTML.table("Secrets", of: sealed, ifEmpty: "Nothing is sealed yet.") { key in
            let id = key.string("keyId")
            let state: HTML =
                if id == current {
                    .tag("current", "done")
                } else {
                    key.bool("known") ? .tag("to be rotated") : .tag("not at hand", "refused")
                }
            return [("Key", "<code>\(id)</code>"), ("State", state)]
                + kinds.map { name, title in (title, "\(key.integer(name))") }
        }
        let rotation: HTML = """
            <p>A rotation is under way, or was not ended: <code>federation secrets rotate</code> seals the rest anew.</p>
            """
        return "\(table)\(rotation, if: sealed.contains { $0["keyId"]?.string != current })"
    }

    private static func tokenKeys(_ keys: JSONObject) -> HTML {
        let none: HTML = "There is no key yet: the first is made for the first token that an application gives out."
        return .table("Keys of signed tokens", of: keys.objects("items"), ifEmpty: none) { key in
            let isSigning = key.bool("signs")
            let state = isSigning ? "signs" : key["retired"]?.isNull ?? true ? "will sign" : "retired"
            return [
                ("Key", "<code>\(key.string("id"))</code>"), ("Application", .value(key["application"])),
                ("State", .tag(state, isSigning ? "done" : "")), ("Published", .value(key["published"])),
                ("Made", .moment(key["created"])), ("Retired", .moment(key["retired"])),
            ]
        }
    }

    /// Returns a table of the mail templates, with a link for each language.
    private static func mails(_ mails: JSONObject) -> HTML {
        guard mails.bool("sends") else {
            return "<p class=\"empty\">This service sends no mails: FEDERATION_SMTP_URL names a mail server.</p>"
        }
        let languages = mails.strings("languages")
        return .table("Mails", of: mails.strings("templates"), ifEmpty: "There is none.") { template in
            [("Mail", "<code>\(template)</code>")]
                + languages.map { language in
                    let path = consolePath("service", "mails", template, language)
                    return (language, "<a href=\"\(path)\" aria-label=\"\(template), \(language)\">Look at it</a>")
                }
        }
    }
}
