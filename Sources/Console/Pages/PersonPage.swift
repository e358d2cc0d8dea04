import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// One person: all that hangs on them, and what can be done about it.
extension Console {
    func mountPerson(on router: Router<ManagementContext>) {
        let person: RouterPath = "/console/applications/{application}/users/{objectId}"
        page(person, on: router) { visit in try await personPage(visit) }
        action(person, on: router) { visit, form in
            let place = PersonPlace(visit)
            do {
                guard let (call, notice) = try call(form, place) else { throw Failure.noSuchButton }
                try await visit.call(call)
                let people = consolePath("applications", place.application, "users")
                return .done(notice, notice == .erased ? people : place.path)
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await personPage(visit, refusal))
            }
        }
        router.get(RouterPath("\(person)/export")) { request, context in
            try await answer(request, context) { visit in
                let export = try await visit.read(PersonPlace(visit).call + ["export"])
                return Page.file("user.json", export.indented(\.text))
            }
        }
    }

    /// The call that a button of the page stands for, and what it does; nil when there is no such button.
    private func call(_ form: FormFields, _ place: PersonPlace) throws -> (AdministrationCalls.Call, Notice)? {
        let tag = try form.value("tag")
        let what = try form.value("what") ?? ""
        switch try form.value("do") {
        case "disable": return (place.change(to: "DISABLED", tag: tag), .disabled)
        case "enable": return (place.change(to: "ENABLED", tag: tag), .enabled)
        case "signOut": return (.init(.delete, place.call + ["sessions"], tag: tag), .signedOut)
        case "endSession": return (.init(.delete, place.call + ["sessions", what], tag: tag), .ended)
        case "refresh": return (.init(.post, place.call + ["refresh"]), .refreshed)
        case "mail":
            return (.init(.post, place.call + ["mails"], body: .object(["mail": .string(what)])), .mailed)
        case "giveRole": return (.init(.put, place.call + ["roles", what]), .roleGiven)
        case "takeRole": return (.init(.delete, place.call + ["roles", what]), .roleTaken)
        case "removeFactor": return (.init(.delete, place.call + ["factors", what], tag: tag), .removed)
        case "unlink":
            let identity = try ["provider", "appId", "subject"].map { try form.value($0) ?? "" }
            return (.init(.delete, place.call + ["identities"] + identity, tag: tag), .unlinked)
        case "erase":
            let confirmation = try form.value("confirm") ?? ""
            return (.init(.delete, place.call, query: [("confirm", confirmation)], tag: tag), .erased)
        default: return nil
        }
    }

    private func personPage(_ visit: Visit, _ refusal: Refusal? = nil) async throws -> Page {
        let place = PersonPlace(visit)
        let stored = try await visit.call(.init(.get, place.call))
        async let application = visit.read(["applications", place.application])
        async let history = visit.part(
            ["logins"],
            query: [("application", place.application), ("user", place.id), ("limit", "10")]
        )
        let person = stored.body?.object
        let user = person?["user"]?.object ?? JSONObject()
        let properties = user.members.filter { $0.key != "___class" }
            .map { (name: $0.key, value: Self.moments.contains($0.key) ? HTML.moment($0.value) : .value($0.value)) }
        let view = PersonView(place: place, person: person ?? JSONObject(), tag: stored.tag ?? "", visit: visit)
        let known = try await application.object?["settings"]?.object?["roles"]?.array?.compactMap(\.string) ?? []
        let edit: HTML = " <a class=\"button\" href=\"\(place.path)/properties\">Edit</a>"
        let page = Page(
            title: user["name"]?.string ?? user["email"]?.string ?? place.id,
            section: .applications,
            trail: place.trail,
            content: """
                \(refusal?.alert ?? "")
                <p>\(Self.status(user["userStatus"]?.string))</p>
                \(view.actions)
                <h2>Properties</h2>\(HTML.facts(properties))\("<p>\(edit)</p>", if: visit.role >= .editor)
                <h2>Roles</h2>\(view.roles(of: known))
                <h2>Logins by providers</h2>\(view.identities)
                <h2>Password</h2>\(view.password)
                <h2>Second factors</h2>\(view.factors)
                <h2>Sessions</h2>\(view.sessions)
                <h2>Logins</h2>\(try await history.html { table($0["items"]?.array?.compactMap(\.object) ?? []) })
                <p><a class="button" href="\(HTML.link("/console/logins", [
                    ("application", place.application), ("user", place.id),
                ]))">In the log of logins</a></p>
                """,
            command: "federation user show \(place.application) \(place.id)",
            call: "GET /admin/v1/applications/\(place.application)/users/\(place.id)"
        )
        return page.answering(refusal)
    }

    private static let moments = ["created", "updated", "lastLogin"]
}

/// The parts of a person's page; a button is there for whom it would not be refused.
private struct PersonView {
    let place: PersonPlace
    let person: JSONObject
    let tag: String
    let visit: Visit

    private func items(_ member: String) -> [JSONObject] { person[member]?.array?.compactMap(\.object) ?? [] }

    /// A form of one button, which does one thing to what is named.
    private func button(_ action: String, _ what: [(String, String)], _ label: String, isGrave: Bool = false) -> HTML {
        visit.form(
            to: place.path,
            """
            \(HTML.hidden("tag", tag))\(HTML.hidden("do", action))\(what.map { HTML.hidden($0.0, $0.1) })\
            <button\(" class=\"danger\"", if: isGrave)>\(label)</button>
            """
        )
    }

    /// The same where it cannot be undone: it takes a second look.
    private func graveButton(_ action: String, _ what: [(String, String)], _ label: String, _ word: String) -> HTML {
        "<details><summary>\(word)</summary>\(button(action, what, label, isGrave: true))</details>"
    }

    var actions: HTML {
        guard visit.role >= .editor else { return "" }
        let user = person["user"]?.object
        let isDisabled = user?["userStatus"]?.string == "DISABLED"
        func choice(_ name: String, _ label: String) -> HTML {
            "<button name=\"do\" value=\"\(name)\">\(label)</button>"
        }
        let change = visit.form(
            to: place.path,
            class: "actions",
            """
            \(HTML.hidden("tag", tag))\(isDisabled ? choice("enable", "Enable") : choice("disable", "Disable"))\
            \(choice("signOut", "End all sessions"))\(choice("refresh", "Ask the provider again"))\
            <a class="button" href="\(place.path)/export">Export all data</a>
            """
        )
        let erase = visit.form(
            to: place.path,
            """
            \(HTML.hidden("tag", tag))\(HTML.hidden("do", "erase"))
            \(HTML.field("confirm", "To erase this person for good, type their objectId", hint: place.id, attributes: """
            required autocomplete="off" spellcheck="false"
            """))
            <p><button class="danger">Erase for good</button></p>
            """
        )
        return """
            \(change)\("<details class=\"erase\"><summary>Erase this person</summary>\(erase)</details>", if: visit.role >= .owner)
            """
    }

    /// What the person was given of the roles that the application has.
    func roles(of known: [String]) -> HTML {
        let given = (person["roles"]?.array ?? []).compactMap(\.string)
        let isOwner = visit.role >= .owner
        let rows = given.map { role -> [HTML] in
            // What the application has no more cannot be taken, and counts for nothing.
            let take = isOwner && known.contains(role) ? button("takeRole", [("what", role)], "Take away") : "–"
            return ["\(role)", take]
        }
        let options = known.filter { !given.contains($0) }.map { "<option>\($0)</option>" as HTML }
        let give = visit.form(
            to: place.path,
            class: "search",
            """
            \(HTML.hidden("do", "giveRole"))<label for="role">Another role</label>\
            <select id="role" name="what">\(options)</select><button>Give</button>
            """
        )
        return """
            \(HTML.table("Roles", ["Role", "Take it"], rows, ifEmpty: "None was given."))\
            \(give, if: isOwner && !options.isEmpty)
            """
    }

    var identities: HTML {
        let rows = items("identities").map { identity -> [HTML] in
            let scopes = (identity["grantedScopes"]?.array ?? []).compactMap(\.string).joined(separator: ", ")
            let key = ["provider", "appId", "subject"].map { ($0, identity[$0]?.string ?? "") }
            return [
                "\(visit.console.methodTitle(identity["provider"]?.string ?? ""))", .value(identity["subject"]),
                .value(identity["appId"]), "\(scopes)",
                .value(identity["tokenKept"]), .moment(identity["tokenExpires"]), .moment(identity["lastUsed"]),
                .moment(identity["revoked"]),
                visit.role >= .owner ? graveButton("unlink", key, "Unlink for good", "Unlink") : "–",
            ]
        }
        let columns = [
            "Provider", "Id there", "App", "Permissions", "Token kept", "Token ends", "Last used", "Revoked",
            "Unlink it",
        ]
        return .table("Identities", columns, rows, ifEmpty: "None.")
    }

    var password: HTML {
        guard let password = person["password"]?.object else { return "<p class=\"empty\">None.</p>" }
        let isConfirmed = person["user"]?.object?["emailVerified"]?.bool ?? false
        let reset = button("mail", [("what", "passwordReset")], "Mail a link to choose another one")
        let confirm = button("mail", [("what", "emailConfirmation")], "Mail the link that confirms the address")
        return """
            \(HTML.facts([("Login", .value(password["login"])), ("Chosen", .moment(password["changed"]))]))
            \("<div class=\"actions\">\(reset)\(confirm, if: !isConfirmed)</div>", if: visit.role >= .editor)
            """
    }

    var factors: HTML {
        let rows = items("factors").map { factor -> [HTML] in
            let remove = graveButton(
                "removeFactor",
                [("what", factor["id"]?.string ?? "")],
                "Remove for good",
                "Remove"
            )
            return [
                .value(factor["kind"]), .value(factor["label"] ?? factor["hint"]), .moment(factor["created"]),
                .moment(factor["lastUsed"]), visit.role >= .owner ? remove : "–",
            ]
        }
        return .table("Factors", ["Kind", "Label", "Made", "Last used", "Remove it"], rows, ifEmpty: "None.")
    }

    var sessions: HTML {
        let rows = items("sessions").map { session -> [HTML] in
            let id = session["id"]?.string ?? ""
            return [
                "<code>\(id.prefix(8).description)</code>", .moment(session["created"]), .moment(session["lastSeen"]),
                .moment(session["expires"]), .value(session["source"]), .value(session["userAgent"]),
                visit.role >= .editor ? button("endSession", [("what", id)], "End", isGrave: true) : "–",
            ]
        }
        let columns = ["Session", "Opened", "Last seen", "Ends", "From", "With", "End it"]
        return .table("Sessions", columns, rows, ifEmpty: "None.")
    }
}
