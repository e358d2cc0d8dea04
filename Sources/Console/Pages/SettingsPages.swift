import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The settings of an application by subject, and those of its providers.
extension Console {
    func mountSettings(on router: Router<ManagementContext>) {
        page("/console/applications/{application}/settings", on: router) { visit in
            try await settingsPage(visit, nil, nil)
        }
        action("/console/applications/{application}/settings", on: router) { visit, form in
            let id = visit.parameter("application")
            do {
                let schema = try await visit.schema()
                let subject = Subject(try form.value("subject"), schema)
                let patch = try subject.form(schema).patch(form)
                let body: JSONValue = .object(["settings": .object(patch)])
                try await visit.call(.init(.patch, ["applications", id], body: body, tag: try form.value("tag")))
                return .done(.saved, HTML.link(consolePath("applications", id, "settings"), [("subject", subject.id)]))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await settingsPage(visit, form, refusal))
            }
        }
        page("/console/applications/{application}/providers/{provider}", on: router) { visit in
            try await providerPage(visit)
        }
        action("/console/applications/{application}/providers/{provider}", on: router) { visit, form in
            try await changeProvider(visit, form)
        }
        action("/console/applications/{application}/providers/{provider}/check", on: router) { visit, _ in
            do {
                let check = try await visit.call(.init(.post, ProviderPlace(.providers, visit).call + ["check"])).body?
                    .object
                return .page(try await providerPage(visit, check: check))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await providerPage(visit, nil, refusal))
            }
        }
    }

    // MARK: An application

    /// What belongs together on one page.
    private struct Subject {
        let id: String
        let title: String
        let members: [String]

        /// All subjects; what the schema has and none of them names is in the last one.
        static func all(_ schema: JSONObject) -> [Subject] {
            let named = [
                Subject(
                    id: "sessions",
                    title: "Sessions",
                    members: [
                        "sessionIdleSeconds", "sessionAbsoluteSeconds", "multipleLogins", "mostSessions",
                        "excessLogins",
                    ]
                ),
                Subject(
                    id: "passwords",
                    title: "Registration and passwords",
                    members: [
                        "newUsers", "registration", "identityProperty", "passwords", "lock", "reauthentication",
                        "tellUnknownLogins",
                    ]
                ),
                Subject(id: "secondFactor", title: "Second factor", members: ["secondFactor"]),
                Subject(
                    id: "clients",
                    title: "Clients",
                    members: [
                        "allowedOrigins", "hostNames", "clientKeys", "clientMapping", "dynamicProperties",
                        "undeclaredProperties", "offsetlessTimes",
                    ]
                ),
                Subject(id: "tokens", title: "Signed tokens", members: ["tokens"]),
                Subject(id: "rights", title: "Roles and rights", members: ["roles", "collection"]),
                Subject(id: "pages", title: "Pages for people", members: ["pages"]),
            ]
            let known = Set(named.flatMap(\.members))
            let others = SchemaForm.members(of: schema, at: place).filter { !known.contains($0) }
            return others.isEmpty ? named : named + [Subject(id: "others", title: "Others", members: others)]
        }

        private static let place = ["properties", "settings"]

        init(id: String, title: String, members: [String]) {
            (self.id, self.title, self.members) = (id, title, members)
        }

        /// The subject of that id; the first one for any other.
        init(_ id: String?, _ schema: JSONObject) {
            let all = Self.all(schema)
            self = all.first { $0.id == id } ?? all[0]
        }

        func form(_ schema: JSONObject) -> SchemaForm { SchemaForm(schema, at: Self.place, members: members) }
    }

    private func settingsPage(_ visit: Visit, _ typed: FormFields?, _ refusal: Refusal?) async throws -> Page {
        let id = visit.parameter("application")
        let path = consolePath("applications", id, "settings")
        async let asked = visit.schema()
        let stored = try await visit.call(.init(.get, ["applications", id]))
        let schema = try await asked
        let subject = Subject(try typed?.value("subject") ?? visit.query["subject"], schema)
        let form = subject.form(schema)
        let links = Subject.all(schema).map { other -> HTML in
            """
            <a href="\(HTML.link(path, [("subject", other.id)]))"\(" aria-current=\"page\"", if: other.id == subject.id)>\
            \(other.title)</a>
            """
        }
        let fields = form.fields(
            stored.body?.object?["settings"]?.object ?? JSONObject(),
            typed: typed,
            refusal,
            at: "/settings"
        )
        let editing = visit.form(
            to: path,
            """
            \(HTML.hidden("subject", subject.id))\
            \(HTML.hidden("tag", stored.tag ?? ""))
            \(fields)<p class="actions"><button class="primary">Save</button></p>
            """
        )
        let warnings = stored.body?.object?["warnings"]?.array?.compactMap(\.string) ?? []
        let page = Page(
            title: "Settings: \(subject.title)",
            section: .applications,
            trail: Self.trail(of: id),
            content: """
                <nav class="spans" aria-label="Subjects">\(links)</nav>
                \(HTML.warnings(warnings))\(refusal.map(Self.alert) ?? "")
                \(visit.role >= .owner ? editing : "<fieldset disabled>\(fields)</fieldset>" as HTML)
                """,
            command: "federation application show \(id); federation apply FILE",
            call: "PATCH /admin/v1/applications/\(id)"
        )
        return page.answering(refusal)
    }

    /// What was refused; when somebody else was faster, what to do then.
    private static func alert(_ refusal: Refusal) -> HTML {
        guard refusal.isOutdated else { return refusal.alert }
        return """
            <div class="alert" role="alert"><p>Somebody has changed this application meanwhile. What you have typed is here \
            still, and the rest is as it is now. Look at it, and save again.</p></div>
            """
    }

    // MARK: A provider

    /// The settings of a provider, as the schema describes its kind.
    private struct ProviderSettings {
        let stored: JSONObject?
        let tag: String
        let kind: String
        let form: SchemaForm
        /// The members of an app: its id first, then secrets and others.
        let appFields: [(name: String, title: String, isSecret: Bool)]
        /// What is entered at the provider.
        let addresses: ProviderAddresses

        init(_ place: ProviderPlace, _ visit: Visit, kind chosen: String?) async throws {
            async let asked = visit.schema()
            async let application = visit.call(.init(.get, ["applications", place.application]))
            var found: AdministrationCalls.Answer?
            do { found = try await visit.call(.init(.get, place.call)) } catch let refusal as Refusal
                where
                refusal.status == .notFound
            {
                // It is set up by the first form that is sent.
            }
            let schema = try await asked
            stored = found?.body?.object
            let ofApplication = try await application
            tag = found?.tag ?? ofApplication.tag ?? ""
            kind = stored?["kind"]?.string ?? chosen ?? place.provider
            let node = ["properties", "providers", "properties", kind]
            let members = SchemaForm.members(of: schema, at: node)
            guard !members.isEmpty else {
                throw Refusal(Failure(.notFound, "There is no kind of provider that is called \(kind)."))
            }
            form = SchemaForm(schema, at: node, members: members.filter { $0 != "kind" && $0 != "apps" })
            let app = (node + ["properties", "apps", "items", "properties"])
                .reduce(schema as JSONObject?) { $0?[$1]?.object }
            appFields = (app?.members ?? []).map { member in
                let field = member.value.object
                return (member.key, field?["title"]?.string ?? member.key, field?["$ref"]?.string == "#/$defs/secret")
            }
            let (kinds, name) = (visit.console.kinds, kind)
            addresses = ProviderAddresses(
                provider: place.provider,
                kind: kinds.first { $0.name == name },
                key: nil,
                of: ofApplication.body?.object,
                at: visit.console.publicURL
            )
        }

        private var apps: [JSONObject] { stored?["apps"]?.array?.compactMap(\.object) ?? [] }

        /// What an app is known by.
        private var id: String { appFields.first?.name ?? "" }

        /// The rows of a form: each begins with which app it was made of, an empty one with none.
        private static func row(of app: String, in form: FormFields) throws -> Int? {
            try (0...100).first { try form.value("app-\($0)-was") == app }
        }

        /// The stored apps with what a form changes of them; nil where that is nothing.
        func apps(changedBy form: FormFields) throws -> [JSONValue]? {
            var isChanged = false
            let changed = try (apps + [JSONObject()]).compactMap { app -> JSONValue? in
                let known = app[id]?.string ?? ""
                // A secret that is left out stays.
                let kept = JSONObject(app.members.filter { $0.value.object == nil })
                guard let row = try Self.row(of: known, in: form) else { return known.isEmpty ? nil : .object(kept) }
                guard try form.value("app-\(row)-remove") == nil else {
                    isChanged = true
                    return nil
                }
                let typed = try appFields.compactMap { field -> JSONObject.Member? in
                    let text = try form.value("app-\(row)-\(field.name)") ?? ""
                    return text.isEmpty ? nil : .init(field.name, .string(text))
                }
                guard !typed.isEmpty else { return nil }
                if JSONObject(typed) != JSONObject(kept.members.filter { !$0.value.isNull }) { isChanged = true }
                return .object(JSONObject(typed))
            }
            return isChanged ? changed : nil
        }

        /// A row for each app and an empty one, with what was typed.
        func rows(_ typed: FormFields?) throws -> [HTML] {
            try (apps + [JSONObject()]).enumerated().map { row, app in
                let known = app[id]?.string ?? ""
                let former = try typed.flatMap { try Self.row(of: known, in: $0) }
                let inputs = try appFields.map { field -> HTML in
                    let text = try former.flatMap { try typed?.value("app-\($0)-\(field.name)") }
                    let type: HTML =
                        field.isSecret
                        ? "type=\"password\" autocomplete=\"new-password\""
                        : "value=\"\(text ?? app[field.name]?.string ?? "")\""
                    let changed = HTML.moment(app[field.name]?.object?["changed"])
                    let hint: HTML = "<small>set \(changed); empty, it stays</small>"
                    return """
                        <label>\(field.title) <input name="app-\(row)-\(field.name)" \(type) spellcheck="false">\
                        \(hint, if: field.isSecret && !known.isEmpty)</label>
                        """
                }
                let isGone = try former.flatMap { try typed?.value("app-\($0)-remove") } != nil
                let removal: HTML = """
                    <label class="tick"><input type="checkbox" name="app-\(row)-remove" value="yes"\(" checked", if: isGone)> \
                    Remove this app</label>
                    """
                return """
                    <fieldset class="app"><legend>\(known.isEmpty ? "A further app" : "App")</legend>\
                    \(HTML.hidden("app-\(row)-was", known))\(inputs)\(removal, if: !known.isEmpty)</fieldset>
                    """
            }
        }
    }

    private func providerPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        _ refusal: Refusal? = nil,
        check: JSONObject? = nil
    ) async throws -> Page {
        let place = ProviderPlace(.providers, visit)
        let settings = try await ProviderSettings(place, visit, kind: try typed?.value("kind") ?? visit.query["kind"])
        let stored = settings.stored
        let fields: HTML = """
            <h2>Apps</h2>\(try settings.rows(typed))
            <h2>Settings</h2>
            \(settings.form.fields(stored ?? JSONObject(), typed: typed, refusal))
            """
        let editing = visit.form(
            to: place.path,
            """
            \(HTML.hidden("tag", settings.tag))\(HTML.hidden("kind", settings.kind))
            \(fields)<p class="actions"><button class="primary">Save</button></p>
            """
        )
        let checking = visit.form(
            to: place.path + "/check",
            "<button>Ask \(methodTitle(place.provider)) whether all is well</button>"
        )
        let mapping = consolePath("applications", place.application, "mappings", place.provider)
        // What was just saved is tried at once.
        let isSaved = typed == nil && visit.query[Notice.field] == Notice.saved.rawValue && visit.role >= .editor
        let asked = isSaved ? try await visit.check(place) : nil
        let verdict = check.map(Self.verdict) ?? asked?.html(Self.verdict) ?? ""
        let page = Page(
            title: methodTitle(place.provider),
            section: .applications,
            trail: Self.trail(of: place.application),
            content: """
                \(HTML.warnings(stored?["warnings"]?.array?.compactMap(\.string) ?? []))\(refusal.map(Self.alert) ?? "")
                \(verdict)
                <div class="actions"><a class="button" href="\(mapping)">Mapping</a>
                \(checking, if: stored != nil && visit.role >= .editor)</div>
                \(visit.role >= .owner ? editing : "<fieldset disabled>\(fields)</fieldset>" as HTML)
                \("<h2 id=\"addresses\">Addresses to enter at the provider</h2>", if: !settings.addresses.isEmpty)\
                \(settings.addresses.html)
                """,
            command: "federation provider check \(place.application) --provider \(place.provider)",
            call: "PATCH /admin/v1/applications/\(place.application)/providers/\(place.provider)"
        )
        return page.answering(refusal)
    }

    private func changeProvider(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let place = ProviderPlace(.providers, visit)
        do {
            let settings = try await ProviderSettings(place, visit, kind: try form.value("kind"))
            var patch = try settings.form.patch(form)
            if let apps = try settings.apps(changedBy: form) { patch.append("apps", .array(apps)) }
            if settings.stored == nil, settings.kind != place.provider {
                patch.append("kind", .string(settings.kind))
            }
            let method: HTTPRequest.Method = settings.stored == nil ? .put : .patch
            try await visit.call(.init(method, place.call, body: .object(patch), tag: try form.value("tag")))
            return .done(.saved, place.path)
        } catch let refusal as Refusal where !refusal.asksForFactor {
            return .page(try await providerPage(visit, form, refusal))
        }
    }

    /// What the provider says of each app.
    static func verdict(_ check: JSONObject) -> HTML {
        let rows = (check["apps"]?.array ?? []).compactMap(\.object).map { app -> [HTML] in
            let isWell = app["ok"]?.bool ?? false
            return [
                .value(app["appId"] ?? app["consumerKey"]), .value(app["name"]),
                "<span class=\"tag \(isWell ? "ENABLED" : "refused")\">\(isWell ? "well" : "not well")</span>",
                .value(app["problem"]),
            ]
        }
        return """
            <section aria-labelledby="verdict"><h2 id="verdict">What the provider says</h2>
            \(HTML.warnings(["problems", "warnings"].flatMap { check[$0]?.array?.compactMap(\.string) ?? [] }))
            \(HTML.table("Apps", ["App", "Name", "State", "What to do"], rows, ifEmpty: "There is no app yet."))</section>
            """
    }
}

extension Visit {
    /// Asks a provider about the application's apps, no longer than a page waits for a part.
    func check(_ place: ProviderPlace) async throws -> Part {
        try await part(.init(.post, place.call + ["check"]))
    }

    /// The JSON Schema of application documents.
    func schema() async throws -> JSONObject { try await read(["application.schema.json"]).object ?? JSONObject() }
}

/// What an application has for a provider: in the console and in the administration.
struct ProviderPlace {
    enum Part: String {
        case providers
        case mappings
    }

    let part: Part
    let application: String
    let provider: String

    init(_ part: Part, _ visit: Visit, provider: String? = nil) {
        self.part = part
        application = visit.parameter("application")
        self.provider = provider ?? visit.parameter("provider")
    }

    var path: String { consolePath("applications", application, part.rawValue, provider) }
    var call: [String] { ["applications", application, part.rawValue, provider] }
}
