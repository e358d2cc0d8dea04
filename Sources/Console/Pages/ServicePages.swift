import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import NIOCore
import Pages

/// The page about the whole service: the secrets that each master key encrypts, signing keys, background work and
/// mails.
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
                    <p>The mail <code>\(place.template)</code> in the language \
                    <code>\(mail.string("language"))</code>, with example data.</p>
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
                    // The mail has the styles of an operator's own template. The policy allows only to show it.
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
                <h2>Background work</h2>\(background.html(Self.background))
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

    /// Returns HTML that shows whether a test mail was sent.
    private static func outcome(_ sent: JSONObject) -> HTML {
        let answer = sent["answer"]?.string.map { " It says: \($0)" as HTML }
        guard sent.string("outcome") == "accepted" else {
            return .alert("The test mail could not be sent: \(HTML.value(sent["problem"])).\(answer)")
        }
        return .notice("The mail server accepted the test mail.\(answer) Check the mailbox and its spam folder.")
    }

    /// Returns a form that sends a test mail with the service's mail configuration.
    private static func test(_ visit: Visit, _ typed: FormFields?) -> HTML {
        visit.form(
            to: "/console/service/mails",
            class: "search",
            """
            <label>Send a test mail to <input id="to" name="to" type="email" required \
            value="\(typed.typed("to"))"></label><label>in the language <input id="locale" name="locale" size="10" \
            placeholder="such as de" value="\(typed.typed("locale"))"></label><button>Send</button>
            """
        )
    }

    /// Returns HTML that shows the state of the background work, such as purging expired data.
    private static func background(_ background: JSONObject) -> HTML {
        let instance = background["instance"]?.object
        let trouble = instance?["blocked"]?.object.map { round -> HTML in
            let reasons = round.object("reasons").members.map { "\($0.key) \($0.value.text)" }
            let cause = round["cause"]?.string.map { " " + $0 } ?? ""
            return """
                <div class="alert"><p>Error at \(HTML.moment(round["at"])): \
                \(reasons.joined(separator: ", ")).\(cause)</p></div>
                """
        }
        let kinds = [
            ("checks", "Token checks"), ("erasures", "Erasures"), ("blockedErasures", "Blocked"),
            ("mails", "Queued mails"), ("postponedMails", "Failed attempts"),
        ]
        let items = background.objects("items")
        let table = HTML.table("Due", of: items, ifEmpty: "No applications yet.") { due in
            let id = due.string("application")
            let counts = kinds.map { name, title -> (String, HTML) in
                let count = due[name]?.integer.map { $0 < 1000 ? "\($0)" : "1,000 or more" }
                return (title, "\(count ?? due["problem"]?.string ?? "–")")
            }
            return [("Application", "<a href=\"\(consolePath("applications", id))\">\(id)</a>")] + counts
        }
        let state =
            instance.map { "<p>The last run of this instance finished at \(HTML.moment($0["lastRound"])).</p>" as HTML }
            ?? "<p class=\"empty\">This instance does no background work.</p>"
        return """
            \(state)\(trouble)
            \(table)\(HTML.next(background["next"]?.string, of: "/console/service"))
            """
    }

    /// Returns HTML that shows how many secrets each master key encrypts.
    ///
    /// During a rotation there are several master keys.
    private static func secrets(_ secrets: JSONObject) -> HTML {
        let current = secrets["current"]?.string
        let encrypted = secrets.objects("secrets")
        let kinds = [
            ("count", "Secrets"), ("tokens", "Stored tokens"), ("passwords", "Passwords"), ("factors", "Factors"),
            ("tokenKeys", "Token keys"), ("banKeys", "Ban keys"), ("passing", "In transit"),
        ]
        let table = HTML.table("Secrets", of: encrypted, ifEmpty: "No encrypted secrets yet.") { key in
            let id = key.string("keyId")
            let state: HTML =
                if id == current {
                    .tag("current", "done")
                } else {
                    key.bool("known") ? .tag("must be rotated") : .tag("not available", "refused")
                }
            return [("Key", "<code>\(id)</code>"), ("State", state)]
                + kinds.map { name, title in (title, "\(key.integer(name))") }
        }
        let rotation: HTML = """
            <p>A rotation is running or was interrupted. To finish it, run <code>federation secrets rotate</code>.</p>
            """
        return "\(table)\(rotation, if: encrypted.contains { $0["keyId"]?.string != current })"
    }

    private static func tokenKeys(_ keys: JSONObject) -> HTML {
        let none: HTML = "No keys yet. The first key is created with the first token of an application."
        return .table("Keys of signed tokens", of: keys.objects("items"), ifEmpty: none) { key in
            let isSigning = key.bool("signs")
            let state = isSigning ? "signs" : key["retired"]?.isNull ?? true ? "will sign" : "retired"
            return [
                ("Key", "<code>\(key.string("id"))</code>"), ("Application", .value(key["application"])),
                ("Algorithm", .value(key["algorithm"])),
                ("State", .tag(state, isSigning ? "done" : "")), ("Published", .value(key["published"])),
                ("Made", .moment(key["created"])), ("Retired", .moment(key["retired"])),
            ]
        }
    }

    /// Returns a table of the mail templates, with a link for each language.
    private static func mails(_ mails: JSONObject) -> HTML {
        guard mails.bool("sends") else {
            return "<p class=\"empty\">The service cannot send mails. Set FEDERATION_SMTP_URL to a mail server.</p>"
        }
        let languages = mails.strings("languages")
        return .table("Mails", of: mails.strings("templates"), ifEmpty: "No mails.") { template in
            [("Mail", "<code>\(template)</code>")]
                + languages.map { language in
                    let path = consolePath("service", "mails", template, language)
                    return (language, "<a href=\"\(path)\" aria-label=\"\(template), \(language)\">View</a>")
                }
        }
    }
}
