import AdministrationAPI
import Applications
import Description
import Domain
import Encodings
import HTTPTypes
import Hummingbird
import Pages

/// The pages of an application's settings, one for each section, and of its providers' options.
extension Console {
    func mountSettings(on router: Router<ManagementContext>) {
        page("/console/applications/{application}/settings", on: router) { visit in
            try await settingsPage(visit, nil, nil)
        }
        action("/console/applications/{application}/settings", on: router) { visit, form in
            let id = visit.parameter("application")
            do {
                let section = Self.section(try form.value("subject"))
                let patch = try DescribedForm(section.fields).patch(form, at: JSONPointer() / "settings")
                let body: JSONValue = .object(["settings": .object(patch)])
                try await visit.call(.init(.patch, ["applications", id], body: body, tag: try form.value("tag")))
                return .done(.saved, HTML.link(consolePath("applications", id, "settings"), [("subject", section.id)]))
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

    private static let sections = ApplicationSettings.description.shape.sections

    /// Returns the section of settings with the given id; the first section if none has this id.
    private static func section(_ id: String?) -> ObjectShape.Section {
        sections.first { $0.id == id } ?? sections[0]
    }

    private func settingsPage(_ visit: Visit, _ typed: FormFields?, _ refusal: Refusal?) async throws -> Page {
        let id = visit.parameter("application")
        let path = consolePath("applications", id, "settings")
        let stored = try await visit.call(.init(.get, ["applications", id]))
        let section = Self.section(try typed?.value("subject") ?? visit.query["subject"])
        let links = Self.sections.map { other -> HTML in
            """
            <a href="\(HTML.link(path, [("subject", other.id)]))"\(" aria-current=\"page\"", if: other.id == section.id)>\
            \(other.title)</a>
            """
        }
        let form = DescribedForm(section.fields)
        let fields = form.fields(
            stored.body?.object?["settings"]?.object ?? JSONObject(),
            typed: typed,
            refusal,
            at: "/settings"
        )
        let editing = visit.form(
            to: path,
            """
            \(HTML.hidden("subject", section.id))\
            \(HTML.hidden("tag", stored.tag ?? ""))
            \(fields)<p class="actions"><button class="primary">Save</button></p>
            """
        )
        let warnings = stored.body?.object?["warnings"]?.array?.compactMap(\.string) ?? []
        let page = Page(
            title: "Settings: \(section.title)",
            section: .applications,
            trail: Self.trail(of: id),
            content: """
                <nav class="spans" aria-label="Subjects">\(links)</nav>
                \(HTML.warnings(warnings))\(refusal.map { form.alert($0, at: "/settings") })
                \(visit.role >= .owner ? editing : "<fieldset disabled>\(fields)</fieldset>" as HTML)
                """,
            command: "federation get applications/\(id); federation apply FILE",
            call: "PATCH /admin/v1/applications/\(id)"
        )
        return page.answering(refusal)
    }

    // MARK: A provider

    /// The stored options of a provider, and the form in which an operator changes them.
    private struct ProviderSettings {
        let stored: JSONObject?
        let tag: String
        let kind: String
        let form: DescribedForm
        /// The fields of an app: first the app's id, then its secret and others.
        private let appFields: [FieldDescription]
        /// The URLs of this service that an operator enters at the provider.
        let addresses: ProviderAddresses
        private let presets: [(name: String, title: String, steps: [String])]

        init(_ place: ProviderPlace, _ visit: Visit, kind chosen: String?) async throws {
            async let application = visit.call(.init(.get, ["applications", place.application]))
            var found: AdministrationCalls.Answer?
            do { found = try await visit.call(.init(.get, place.call)) } catch let refusal as Refusal
                where
                refusal.status == .notFound
            {
                // There is no provider yet. The first form that an operator sends creates it.
            }
            stored = found?.body?.object
            let ofApplication = try await application
            tag = found?.tag ?? ofApplication.tag ?? ""
            let name = stored?["kind"]?.string ?? chosen ?? place.provider
            guard let card = visit.console.kinds.first(where: { $0.name == name }) else {
                throw Refusal(Failure(.notFound, "There is no provider kind \(name)."))
            }
            kind = name
            (form, appFields, presets) = (DescribedForm(card.settings), card.app, card.presets)
            addresses = ProviderAddresses(
                provider: place.provider,
                kind: card,
                key: nil,
                of: ofApplication.body?.object,
                at: visit.console.publicURL
            )
        }

        /// The options to show: the stored ones, or those of a new provider.
        func options(preset: String?) -> JSONObject {
            stored ?? (preset.map { ["preset": .string($0)] } ?? [:])
        }

        /// The links to the presets of a new provider, and the steps of the chosen one.
        ///
        /// A new provider gets the name of its preset.
        func guide(of application: String, preset chosen: String?) -> HTML {
            let name = stored.map { $0["preset"]?.string } ?? chosen
            let links = presets.map { preset -> HTML in
                let current: HTML = preset.name == name ? " aria-current=\"page\"" : ""
                let path = consolePath("applications", application, "providers", preset.name)
                return """
                    <a href="\(HTML.link(path, [("kind", kind), ("preset", preset.name)]))"\(current)>\(preset.title)</a>
                    """
            }
            let steps = presets.first { $0.name == name }?.steps ?? []
            let title = presets.first { $0.name == name }?.title ?? ""
            let list = steps.map { "<li>\($0)</li>" as HTML }
            // The steps of a provider that is set up are out of the way.
            let open: HTML = stored == nil ? " open" : ""
            let shown: HTML = "<details\(open)><summary>Set up \(title)</summary><ol>\(list)</ol></details>"
            return """
                \("<nav class=\"spans\" aria-label=\"Presets\">\(links)</nav>", if: stored == nil && !presets.isEmpty)\
                \(shown, if: !steps.isEmpty)
                """
        }

        private var apps: [JSONObject] { stored?["apps"]?.array?.compactMap(\.object) ?? [] }

        /// The name of the form field with the id of an app.
        private var id: String { appFields.first?.name ?? "" }

        /// Returns the number of the form's row for a stored app; nil if the form has no such row.
        ///
        /// Each row contains the original id of its app. In the row for a new app, this id is empty.
        private static func row(of app: String, in form: FormFields) throws -> Int? {
            try (0...100).first { try form.value("app-\($0)-was") == app }
        }

        /// Returns the provider's stored apps with the changes from the form; nil if the form changes nothing.
        func apps(changedBy form: FormFields) throws -> [JSONValue]? {
            var isChanged = false
            let changed = try (apps + [JSONObject()]).compactMap { app -> JSONValue? in
                let known = app[id]?.string ?? ""
                // A stored secret is left out here. The administration keeps a secret that is left out.
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

        /// Returns a form row for each app, and one for a new app, filled with what the operator has typed.
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
                    let kept: HTML = "<small>Set \(changed). Leave it empty to keep it.</small>"
                    let meaning: HTML = "<small>\(field.meaning)</small>"
                    return """
                        <label>\(field.title) <input name="app-\(row)-\(field.name)" \(type) spellcheck="false">\
                        \(kept, if: field.isSecret && !known.isEmpty)\(meaning, if: !field.isSecret && field.name != id)</label>
                        """
                }
                let isGone = try former.flatMap { try typed?.value("app-\($0)-remove") } != nil
                let removal: HTML = """
                    <label class="tick"><input type="checkbox" name="app-\(row)-remove" value="yes"\(" checked", if: isGone)> \
                    Remove this app</label>
                    """
                return """
                    <fieldset class="app"><legend>\(known.isEmpty ? "Another app" : "App")</legend>\
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
        let preset = try typed?.value("preset") ?? visit.query["preset"]
        let title = methodTitle(place.provider)
        // The page checks a provider as soon as it was saved.
        let save: HTML = "<p class=\"actions\"><button class=\"primary\">Save and check with \(title)</button></p>"
        let fields: HTML = """
            <h2>Apps</h2>\(try settings.rows(typed))
            \(save, if: visit.role >= .owner)
            <h2>Settings</h2>
            \(settings.form.fields(settings.options(preset: preset), typed: typed, refusal))
            """
        let editing = visit.form(
            to: place.path,
            """
            \(HTML.hidden("tag", settings.tag))\(HTML.hidden("kind", settings.kind))
            \(fields)\(save)
            """
        )
        // An owner saves and checks at once: a check of the stored secrets would lose what was typed.
        let checking = visit.form(to: place.path + "/check", "<button>Check with \(title)</button>")
        let mapping = consolePath("applications", place.application, "mappings", place.provider)
        let isSaved = typed == nil && visit.query[Notice.field] == Notice.saved.rawValue && visit.role >= .editor
        let asked = isSaved ? try await visit.check(place) : nil
        let verdict = check.map(Self.verdict) ?? asked?.html(Self.verdict) ?? ""
        let page = Page(
            title: title,
            section: .applications,
            trail: Self.trail(of: place.application),
            content: """
                \(HTML.warnings(stored?["warnings"]?.array?.compactMap(\.string) ?? []))\
                \(refusal.map { settings.form.alert($0) })
                \(verdict)\(settings.guide(of: place.application, preset: preset))
                <div class="actions"><a class="button" href="\(mapping)">Mapping</a>
                \(checking, if: stored != nil && visit.role == .editor)</div>
                \(visit.role >= .owner ? editing : "<fieldset disabled>\(fields)</fieldset>" as HTML)
                \("<h2 id=\"addresses\">URLs to enter at the provider</h2>", if: !settings.addresses.isEmpty)\
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

    /// Returns HTML that shows for each app whether the provider accepts its id and secret.
    static func verdict(_ check: JSONObject) -> HTML {
        let apps = HTML.table("Apps", of: check.objects("apps"), ifEmpty: "No apps yet. Add one below.") { app in
            app["problem"].map { .value($0) }
        } _: { app in
            [
                ("App", .value(app["appId"] ?? app["consumerKey"] ?? app["clientId"])), ("Name", .value(app["name"])),
                ("State", app.bool("ok") ? .tag("ok", "ENABLED") : .tag("error", "refused")),
            ]
        }
        return """
            <section aria-labelledby="verdict"><h2 id="verdict">Result of the check</h2>
            \(HTML.warnings(["problems", "warnings"].flatMap { check[$0]?.array?.compactMap(\.string) ?? [] }))
            \(apps)</section>
            """
    }
}

extension Visit {
    /// Asks the provider whether the ids and secrets of the application's apps are valid, for at most `Part.timeout`.
    func check(_ place: ProviderPlace) async throws -> Part {
        try await part(.init(.post, place.call + ["check"]))
    }
}

/// The path of an application's provider, or of its mapping, in the console and in the administration API.
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
