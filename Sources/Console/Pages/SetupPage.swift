import AdministrationAPI
import Description
import Domain
import Encodings
import Hummingbird
import Pages

/// The guided setup of an application, from a Facebook app's id and secret to the first login.
///
/// The page derives from the application's configuration which steps are done. So any operator can leave the setup and
/// continue it later.
extension Console {
    func mountSetup(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/setup"
        page(path, on: router) { visit in try await setupPage(visit) }
        action(path, on: router) { visit, form in
            var outcome = SetupOutcome(step: try form.value("do") ?? "")
            do {
                try await carryOut(&outcome, form, visit)
            } catch let refusal as Refusal where !refusal.asksForFactor {
                outcome.refusal = refusal
            }
            // What is shown once stays in the response itself. Other steps are read again from the application, so that
            // the browser's "back" and "reload" send no form again.
            let isShownOnce = outcome.refusal != nil || outcome.key != nil || outcome.preview != nil
            guard isShownOnce else { return .redirect(SetupSteps.path(visit.application, at: outcome.step)) }
            return .page(try await setupPage(visit, outcome, form))
        }
    }

    /// The result of one step of the guided setup, after the operator has sent its form.
    private struct SetupOutcome {
        let step: String
        var refusal: Refusal?
        /// The new API key, which the console shows only once.
        var key: JSONObject?
        /// The preview of what a login would do.
        var preview: JSONObject?
    }

    /// The state of a step of the guided setup.
    fileprivate enum StepState {
        /// The step is not done.
        case open
        /// The step is done, and no problem is known.
        case done
        /// The step is done, but could not be checked.
        case unchecked
        /// The operator has done the step, but the provider reports a problem.
        case failed
        /// The operator does the step outside the service, and the service cannot see whether it is done.
        case told

        /// Whether an operator has to continue at this step.
        var isNext: Bool { self == .open || self == .failed }

        var tag: HTML {
            switch self {
            case .open, .told: ""
            case .done: "<span class=\"tag done\">done</span>"
            case .unchecked: "<span class=\"tag\">not checked</span>"
            case .failed: "<span class=\"tag refused\">error</span>"
            }
        }
    }

    /// The mapping entries that the guided setup offers, each with the profile field, the property and its type.
    private static let usual = [
        ("email", "email", "STRING"), ("name", "name", "STRING"), ("first_name", "givenName", "STRING"),
        ("last_name", "familyName", "STRING"), ("picture.data.url", "avatar", "TEXT"),
    ]

    /// The name of the provider that the guided setup creates.
    private static let provider = "facebook"

    private func carryOut(_ outcome: inout SetupOutcome, _ form: FormFields, _ visit: Visit) async throws {
        let application = ["applications", visit.parameter("application")]
        // The tag of the page that the operator loaded. It keeps the form from overwriting changes of other operators.
        var tag = try form.value("tag")
        switch outcome.step {
        case "provider":
            let provider = application + ["providers", Self.provider]
            let stored = try await visit.found(provider)?.object
            let id = JSONValue.string(try form.text("appId"))
            // What the form does not ask for stays.
            let known = stored?.objects("apps").first { $0["appId"] == id }
            let app = (known ?? JSONObject()).setting(["appId"], to: id)
                .setting(["appSecret"], to: .string(try form.text("appSecret")))
            // This step makes no check: the page checks the provider each time it is shown.
            let body: JSONObject = ["apps": .array([.object(app)])]
            try await visit.call(stored == nil ? .put : .patch, provider, body, tag: tag)
        case "mapping":
            let declared = try await visit.list(application + ["properties"]).items.compactMap { $0["name"]?.string }
            let wanted = try Self.usual.filter { try form.value("use-\($0.1)") != nil }
            for (_, name, type) in wanted where !declared.contains(name) {
                let body: JSONValue = .object(["name": .string(name), "type": .string(type)])
                tag = try await visit.call(.init(.post, application + ["properties"], body: body, tag: tag)).tag
            }
            let entries = wanted.map { JSONValue.object(["from": .string($0.0), "to": .string($0.1)]) }
            let mapping = application + ["mappings", Self.provider]
            try await visit.call(.init(.put, mapping, body: .array(entries), tag: tag))
        case "key":
            let body: JSONValue = .object(["label": .string(try form.value("label") ?? "")])
            outcome.key = try await visit.call(.init(.post, application + ["keys"], body: body)).body?.object
        case "try":
            let body: JSONValue = .object(["accessToken": .string(try form.value("accessToken") ?? "")])
            let preview = application + ["mappings", Self.provider, "preview"]
            outcome.preview = try await visit.call(.init(.post, preview, body: body)).body?.object
        default: throw Refusal(.noSuchButton)
        }
    }

    private func setupPage(
        _ visit: Visit,
        _ outcome: SetupOutcome? = nil,
        _ form: FormFields? = nil
    ) async throws -> Page {
        let id = visit.parameter("application")
        async let asked = visit.call(.init(.get, ["applications", id, "document"]))
        async let counts = visit.part(["logins", "counts"], query: [("application", id), ("hours", "168")])
        let keys = try await visit.list(["applications", id, "keys"]).items
        let stored = try await asked
        let document = stored.body?.object
        let logins = try await counts.object?["buckets"]?.array?.compactMap(\.object) ?? []
        let hasLogins = logins.contains { $0["outcome"]?.string != "refused" }
        let apps = document?["providers"]?.object?[Self.provider]?.object?["apps"]?.array?.compactMap(\.object) ?? []
        let mapping = document?["mapping"]?.object?[Self.provider]
        let entries = mapping?.array?.count ?? mapping?.object?.members.count ?? 0
        let verdict = try await self.verdict(on: apps, visit)
        let kind = kinds.first { $0.name == Self.provider }
        let title = kind?.title ?? Self.provider
        let addresses = ProviderAddresses(
            provider: Self.provider,
            kind: kind,
            key: outcome?.key?["key"]?.string,
            of: document,
            at: publicURL
        )
        let steps = SetupSteps(
            application: id,
            provider: (Self.provider, title),
            tag: stored.tag ?? "",
            visit: visit
        )
        /// Returns what the operator typed into a field of a step whose form was refused; nil for other steps.
        func typed(_ step: String, _ name: String) throws -> String? {
            outcome?.step == step ? try form?.value(name) : nil
        }
        let chosen = try Self.usual.map(\.1).filter { property in
            try outcome?.step != "mapping" || typed("mapping", "use-\(property)") != nil
        }
        let parts: [(name: String, title: String, state: StepState, content: HTML)] = [
            (
                "provider", "The app at \(title)", Self.state(of: apps, verdict),
                steps.provider(apps, try typed("provider", "appId"), verdict, Self.state(of: apps, verdict))
            ),
            (
                "mapping", "Properties and mapping", entries > 0 ? .done : .open,
                steps.mapping(entries, Self.usual, chosen)
            ),
            (
                "key", "API key for your clients", keys.isEmpty ? .open : .done,
                steps.key(keys, try typed("key", "label") ?? "app", made: outcome?.key)
            ),
            ("addresses", "URLs to enter at \(title)", .told, addresses.html),
            ("try", "Test", hasLogins ? .done : .open, steps.attempt(outcome?.preview)),
            (
                "call", "The first login", hasLogins ? .done : .open,
                steps.call(outcome?.key?["key"]?.string, at: publicURL, hasLogins)
            ),
        ]
        let next = parts.first(where: \.state.isNext)?.name
        let items = parts.map { part -> HTML in
            """
            <li id="step-\(part.name)"\(" aria-current=\"step\"", if: part.name == next)>
            <h2>\(part.title) \(part.state.tag)</h2>
            \((outcome?.step == part.name ? outcome?.refusal?.alert : nil) ?? "")\(part.content)</li>
            """
        }
        let page = Page(
            title: "Setting up \(document?["name"]?.string ?? id)",
            section: .applications,
            trail: Self.trail(of: id),
            content: "<ol class=\"steps\">\(items)</ol>",
            command: "federation apply FILE",
            call: "PUT /admin/v1/applications/\(id)/document"
        )
        return page.answering(outcome?.refusal)
    }
}

extension Console {
    /// Returns whether the provider accepts the apps' ids and secrets; nil if the page does not ask the provider.
    private func verdict(on apps: [JSONObject], _ visit: Visit) async throws -> Part? {
        guard !apps.isEmpty, visit.role >= .editor else { return nil }
        return try await visit.check(ProviderPlace(.providers, visit, provider: Self.provider))
    }

    private static func state(of apps: [JSONObject], _ verdict: Part?) -> StepState {
        guard !apps.isEmpty else { return .open }
        guard let said = verdict?.object?["apps"]?.array else { return .unchecked }
        return said.allSatisfy { $0.object?["ok"]?.bool == true } ? .done : .failed
    }
}

/// Creates the HTML of each step of the guided setup.
private struct SetupSteps {
    let application: String
    let provider: (name: String, title: String)
    let tag: String
    let visit: Visit

    /// Returns the path at which the page shows a step.
    static func path(_ application: String, at step: String) -> String {
        consolePath("applications", application, "setup") + "#step-\(step)"
    }

    private func form(_ step: String, _ content: HTML) -> HTML {
        visit.form(to: Self.path(application, at: step), "\(HTML.hidden("tag", tag))\(content)")
    }

    func provider(_ apps: [JSONObject], _ typed: String?, _ verdict: Part?, _ state: Console.StepState) -> HTML {
        let form = self.form(
            "provider",
            """
            <p>Open the app at <strong>developers.facebook.com</strong>, then "App settings", "Basic". Copy both \
            values.</p>
            \(HTML.field("appId", "App id", value: typed ?? apps.first?.string("appId") ?? "", attributes: """
            required inputmode="numeric" spellcheck="false"
            """))
            \(HTML.field("appSecret", "App secret", type: "password", hint: """
            It is stored encrypted and never shown again.
            """, attributes: "required autocomplete=\"new-password\" spellcheck=\"false\""))
            <p class="actions">\
            <button name="do" value="provider" class="primary">Save and check with \(provider.title)</button></p>
            """
        )
        guard !apps.isEmpty else { return visit.role >= .owner ? form : "<p>Only an owner can do this step.</p>" }
        return """
            <p>Apps: \(apps.map { "<code>\($0.string("appId"))</code> " as HTML })\
            <a href="\(consolePath("applications", application, "providers", provider.name))">Change them</a></p>
            \(verdict?.html(Console.verdict))\(form, if: state == .failed && apps.count == 1 && visit.role >= .owner)
            """
    }

    func mapping(_ entries: Int, _ usual: [(String, String, String)], _ chosen: [String]) -> HTML {
        let editor = consolePath("applications", application, "mappings", provider.name)
        guard entries == 0 else {
            return
                "<p>\(entries == 1 ? "1 field is" : "\(entries) fields are") mapped. <a href=\"\(editor)\">Edit the mapping</a></p>"
        }
        let choices = usual.map { field, property, type -> HTML in
            """
            <li><label class="tick"><input type="checkbox" name="use-\(property)" value="yes"\
            \(" checked", if: chosen.contains(property))> \
            <code>\(field)</code> into <code>\(property)</code> <small>\(type)</small></label></li>
            """
        }
        let form = self.form(
            "mapping",
            """
            <p>Select the profile fields to store in properties of the user. You can add more later.</p>
            <ul class="plain">\(choices)</ul>
            <p class="actions"><button name="do" value="mapping" class="primary">Declare and map</button>
            <a class="button" href="\(editor)">Edit the mapping myself</a></p>
            """
        )
        return visit.role >= .editor ? form : "<p>Only an editor or owner can do this step.</p>"
    }

    func key(_ keys: [JSONObject], _ typed: String, made: JSONObject?) -> HTML {
        if let made { return .made(key: made) }
        guard keys.isEmpty else {
            let labels = keys.map { "<code>\($0["label"]?.string ?? "")</code> " as HTML }
            return """
                <p>Keys: \(labels)<a href="\(consolePath("applications", application, "keys"))">Create another \
                key</a></p>
                """
        }
        let form = self.form(
            "key",
            """
            <p>Clients send it to name the application. It is not a secret.</p>
            \(HTML.field("label", "Label", value: typed, attributes: "required spellcheck=\"false\""))
            <p class="actions"><button name="do" value="key" class="primary">Create the key</button></p>
            """
        )
        return visit.role >= .owner ? form : "<p>Only an owner can do this step.</p>"
    }

    func attempt(_ preview: JSONObject?) -> HTML {
        let form = self.form(
            "try",
            """
            <p>Enter an access token of the app, for example from the Graph API Explorer, to see what a login would \
            write. Nothing is written, and the token is not stored.</p>
            \(HTML.field("accessToken", "Access token", type: "password", attributes: """
            required autocomplete="new-password" spellcheck="false"
            """))
            <p class="actions"><button name="do" value="try">Preview the login</button></p>
            """
        )
        return "\(preview.map { Console.summary($0, table: true) } ?? "")\(form)"
    }

    /// Returns the step of the guided setup that shows examples of how clients log in.
    func call(_ key: String?, at publicURL: String?, _ hasLogins: Bool) -> HTML {
        let server = publicURL ?? ProviderAddresses.unknownHost
        let known = key ?? ProviderAddresses.unknownKey
        let base = "\(server)/\(application)/\(known)"
        let snippets: [(String, String)] = [
            (
                "curl",
                """
                curl \(base)/users/loginWithFacebook \\
                  -H 'Content-Type: application/json' \\
                  -d '{"accessToken": "TOKEN", "fieldsMapping": {}}'
                """
            ),
            (
                "JavaScript",
                """
                const reply = await fetch('\(base)/users/loginWithFacebook', {
                  method: 'POST',
                  headers: { 'Content-Type': 'application/json' },
                  body: JSON.stringify({ accessToken, fieldsMapping: {} })
                })
                const user = await reply.json()   // user['user-token'] is the session
                """
            ),
            (
                "Swift",
                """
                var request = URLRequest(url: URL(string: "\(base)/users/loginWithFacebook")!)
                request.httpMethod = "POST"
                request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                request.httpBody = try JSONSerialization.data(
                    withJSONObject: ["accessToken": AccessToken.current!.tokenString, "fieldsMapping": [:]])
                let (data, reply) = try await URLSession.shared.data(for: request)
                """
            ),
            (
                "Kotlin",
                """
                val body = JSONObject(mapOf("accessToken" to AccessToken.getCurrentAccessToken()!!.token,
                    "fieldsMapping" to JSONObject())).toString()
                val request = Request.Builder().url("\(base)/users/loginWithFacebook")
                    .post(body.toRequestBody("application/json".toMediaType())).build()
                val reply = OkHttpClient().newCall(request).execute()
                """
            ),
            (
                "Backendless SDK, JavaScript",
                """
                Backendless.serverURL = '\(server)'
                Backendless.initApp('\(application)', '\(known)')
                const user = await Backendless.UserService.loginWithFacebookSdk(accessToken, {})
                """
            ),
        ]
        let shown = snippets.map { title, code -> HTML in
            "<details\(" open", if: title == "curl")><summary>\(title)</summary><pre>\(code)</pre>\(HTML.copyButton(title))</details>"
        }
        return """
            <p>\(hasLogins ? "Users have logged in." : "No logins yet. The first login appears in the log.") \
            <a href="\(HTML.link("/console/logins", [("application", application)]))">Login log</a></p>
            \(ProviderAddresses.placeholders(key: key, publicURL: publicURL))
            \(shown)
            """
    }
}
