import API
import HTTP
import HTTPTypes
import Hummingbird
import NIOCore
import Vocabulary

/// What is about the service as a whole: what is sealed under which key, the keys of signed tokens, and what mails say.
extension Console {
    func mountService(on router: Router<ManagementContext>) {
        page("/console/service", on: router) { visit in try await service(visit) }
        action("/console/service/mails", on: router) { visit, form in
            var test: JSONObject = ["to": .string(try form.value("to") ?? "")]
            if let locale = try form.value("locale"), !locale.isEmpty { test.append("locale", .string(locale)) }
            do {
                let sent = try await visit.call(.init(.post, ["mails"], body: .object(test))).body?.object
                return .page(try await service(visit, form, sent: sent))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await service(visit, form, refusal))
            }
        }
        page("/console/service/mails/{template}/{language}", on: router) { visit in
            let place = MailPlace(visit)
            let mail = try await visit.read(place.call, query: place.query).object
            return Page(
                title: mail?["subject"]?.string ?? "",
                section: .service,
                trail: [("Service", "/console/service")],
                content: """
                    <p>The mail <code>\(place.template)</code> in the language <code>\(mail?["language"]?.string ?? "")</code>, \
                    to somebody who is made up.</p>
                    <h2>As text</h2><pre class="mail">\(mail?["text"]?.string ?? "")</pre>
                    <p><a class="button" href="\(place.path)/html" target="_blank" rel="noopener">As HTML</a></p>
                    """,
                command: "federation mail test --to ann@example.com --locale \(place.language)",
                call: "GET /admin/v1/mails/\(place.template)?language=\(place.language)"
            )
        }
        router.get("/console/service/mails/{template}/{language}/html") { request, context in
            try await answer(request, context) { visit in
                let place = MailPlace(visit)
                let mail = try await visit.read(place.call, query: place.query).object
                let headers: HTTPFields = [
                    .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                    // It is the operator's own template, with styles of its own, and does nothing but show.
                    .contentSecurityPolicy: """
                    sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'
                    """,
                    .resourcePolicy: "same-origin",
                ]
                let html = ByteBuffer(string: mail?["html"]?.string ?? "")
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
        _ refusal: Refusal? = nil,
        sent: JSONObject? = nil
    ) async throws -> Page {
        async let secrets = visit.part(["secrets"])
        async let keys = visit.part(["token-keys"])
        async let mails = visit.part(["mails"])
        async let background = visit.part(["background"], query: [("limit", "50")] + visit.cursor)
        let test = try Self.test(visit, typed)
        let page = try await Page(
            title: "Service",
            section: .service,
            content: """
                \(refusal?.alert ?? "")\(sent.map(Self.outcome) ?? "")
                <h2>Work in the background</h2>\(background.html(Self.background))
                <h2>Secrets by master key</h2>\(secrets.html(Self.secrets))
                <h2>Keys of signed tokens</h2>\(keys.html(Self.tokenKeys))
                <h2>Mails</h2>\(mails.html { mails in
                    let sends = mails["sends"]?.bool ?? false
                    return "\(Self.mails(mails))\(test, if: sends && visit.role >= .owner)"
                })
                """,
            command: "federation secrets status; federation token-key list",
            call: "GET /admin/v1/secrets"
        )
        return page.answering(refusal)
    }

    /// What became of a mail that is a test.
    private static func outcome(_ sent: JSONObject) -> HTML {
        let answer = sent["answer"]?.string.map { " It says: \($0)" as HTML } ?? ""
        guard sent["outcome"]?.string == "accepted" else {
            return """
                <div class="alert" role="alert"><p>The test did not go out: \(HTML.value(sent["problem"])).\(answer)</p></div>
                """
        }
        return """
            <p class="notice" role="status">The mail server has taken the test.\(answer) Look into the mailbox, and into its \
            spam.</p>
            """
    }

    /// A form for a mail that shows whether mails arrive.
    private static func test(_ visit: Visit, _ typed: FormFields?) throws -> HTML {
        visit.form(
            to: "/console/service/mails",
            class: "search",
            """
            <label for="to">Send a test to</label><input id="to" name="to" type="email" required \
            value="\(try typed?.value("to") ?? "")"><label for="locale">in</label><input id="locale" name="locale" size="6" \
            placeholder="de" value="\(try typed?.value("locale") ?? "")"><button>Send it</button>
            """
        )
    }

    /// What goes on while nobody waits.
    private static func background(_ background: JSONObject) -> HTML {
        let instance = background["instance"]?.object
        let hindered = instance?["hindered"]?.object
        let reasons = (hindered?["reasons"]?.object?.members ?? []).map { "\($0.key) \($0.value.text)" }
        let trouble = hindered.map { round -> HTML in
            """
            <div class="alert"><p>At \(HTML.moment(round["at"])) something stood in the way: \(reasons.joined(separator: ", ")).\
            \(round["cause"]?.string.map { " " + $0 } ?? "")</p></div>
            """
        }
        let kinds = [
            ("checks", "Checks of tokens"), ("erasures", "Erasures"), ("hinderedErasures", "Hindered"),
            ("mails", "Mails on their way"), ("postponedMails", "Tried in vain"),
        ]
        let rows = (background["items"]?.array ?? []).compactMap(\.object).map { due -> [HTML] in
            let id = due["application"]?.string ?? ""
            let counts = kinds.map { kind -> HTML in
                due[kind.0]?.integer.map { $0 < 1000 ? "\($0)" : "1,000 or more" } ?? "\(due["problem"]?.string ?? "–")"
            }
            return ["<a href=\"\(consolePath("applications", id))\">\(id)</a>"] + counts
        }
        let isOff = instance == nil
        return """
            \("<p class=\"empty\">This instance does none.</p>", if: isOff)\
            \("<p>This instance's last round ended at \(HTML.moment(instance?["lastRound"])).</p>", if: !isOff)\(trouble ?? "")
            \(HTML.table("What is due", ["Application"] + kinds.map(\.1), rows, ifEmpty: "There is no application."))\
            \(HTML.next(background["next"]?.string, of: "/console/service"))
            """
    }

    /// How much is sealed under which key; while a rotation is under way, under more than one.
    private static func secrets(_ secrets: JSONObject) -> HTML {
        let current = secrets["current"]?.string
        let sealed = secrets["secrets"]?.array?.compactMap(\.object) ?? []
        let kinds = [
            ("count", "Secrets"), ("tokens", "Kept tokens"), ("passwords", "Passwords"), ("factors", "Factors"),
            ("tokenKeys", "Token keys"), ("banKeys", "Ban keys"), ("passing", "On their way"),
        ]
        let rows = sealed.map { key -> [HTML] in
            let id = key["keyId"]?.string ?? ""
            let state: HTML =
                if id == current {
                    "<span class=\"tag done\">current</span>"
                } else if key["known"]?.bool ?? false {
                    "<span class=\"tag\">to be rotated</span>"
                } else {
                    "<span class=\"tag refused\">not at hand</span>"
                }
            return ["<code>\(id)</code>", state] + kinds.map { "\(key[$0.0]?.integer ?? 0)" as HTML }
        }
        let isUnderWay = sealed.contains { $0["keyId"]?.string != current }
        return """
            \(HTML.table("Secrets", ["Key", "State"] + kinds.map(\.1), rows, ifEmpty: "Nothing is sealed yet."))
            \("<p>A rotation is under way, or was not ended: <code>federation secrets rotate</code> seals the rest anew.</p>", if: isUnderWay)
            """
    }

    private static func tokenKeys(_ keys: JSONObject) -> HTML {
        let rows = (keys["items"]?.array ?? []).compactMap(\.object).map { key -> [HTML] in
            let isSigning = key["signs"]?.bool ?? false
            let state = isSigning ? "signs" : key["retired"]?.isNull ?? true ? "will sign" : "retired"
            return [
                "<code>\(key["id"]?.string ?? "")</code>", .value(key["application"]),
                "<span class=\"tag\(" done", if: isSigning)\">\(state)</span>", .value(key["published"]),
                .moment(key["created"]), .moment(key["retired"]),
            ]
        }
        return .table(
            "Keys of signed tokens",
            ["Key", "Application", "State", "Published", "Made", "Retired"],
            rows,
            ifEmpty: "There is no key yet: the first is made for the first token that an application gives out."
        )
    }

    /// Which mails there are, to be looked at in each language.
    private static func mails(_ mails: JSONObject) -> HTML {
        guard mails["sends"]?.bool ?? false else {
            return "<p class=\"empty\">This service sends no mails: FEDERATION_SMTP_URL names a mail server.</p>"
        }
        let languages = (mails["languages"]?.array ?? []).compactMap(\.string)
        let rows = (mails["templates"]?.array ?? []).compactMap(\.string).map { template -> [HTML] in
            ["<code>\(template)</code>"]
                + languages.map { language -> HTML in
                    let path = consolePath("service", "mails", template, language)
                    return "<a href=\"\(path)\" aria-label=\"\(template), \(language)\">Look at it</a>"
                }
        }
        return .table("Mails", ["Mail"] + languages, rows, ifEmpty: "There is none.")
    }
}
