import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page of one user, with everything that the service stores about the user, and buttons for actions on the user.
extension Console {
    func mountUser(on router: Router<ManagementContext>) {
        let person: RouterPath = "/console/applications/{application}/users/{objectId}"
        page(person, on: router) { visit in try await personPage(visit) }
        action(person, on: router, again: { visit, _, _ in try await personPage(visit) }) { visit, form in
            let place = UserPlace(visit)
            guard let (call, notice) = try call(form, place) else { throw Failure.noSuchButton }
            try await visit.call(call)
            let people = consolePath("applications", place.application, "users")
            return .done(notice, notice == .erased ? people : place.path)
        }
        router.get(RouterPath("\(person)/export")) { request, context in
            try await answer(request, context) { visit in
                let export = try await visit.read(UserPlace(visit).call + ["export"])
                return Page.file("user.json", export.indented(\.text))
            }
        }
    }

    /// Returns the administration API's call that a button stands for, and the notice to show after it.
    ///
    /// Nil for an unknown button.
    private func call(_ form: FormFields, _ place: UserPlace) throws -> (AdministrationCalls.Call, Notice)? {
        let tag = try form.value("tag")
        let what = try form.text("what")
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
            let identity = try ["provider", "appId", "subject"].map { try form.text($0) }
            return (.init(.delete, place.call + ["identities"] + identity, tag: tag), .unlinked)
        case "erase":
            let confirmation = try form.text("confirm")
            return (.init(.delete, place.call, query: [("confirm", confirmation)], tag: tag), .erased)
        default: return nil
        }
    }

    private func personPage(_ visit: Visit) async throws -> Page {
        let place = UserPlace(visit)
        let stored = try await visit.call(.get, place.call)
        async let application = visit.object(["applications", place.application])
        let of = [(name: "application", value: place.application), ("user", place.id)]
        async let history = visit.part(["logins"], query: of + [("limit", "10")])
        let user = stored.object.object("user")
        let ids = [("Firebase uid", "firebaseUid"), ("Firebase claims", "firebaseClaims")].compactMap { title, name in
            stored.object.present(name).map { (name: title as HTML, value: HTML.value($0)) }
        }
        let properties = user.members.filter { $0.key != "___class" }.map { member in
            let isMoment = Self.moments.contains(member.key)
            return (name: "\(member.key)" as HTML, value: isMoment ? HTML.moment(member.value) : .value(member.value))
        }
        let view = UserView(place: place, person: stored.object, tag: stored.tag ?? "", visit: visit)
        let known = try await application.object("settings").strings("roles")
        let edit = HTML.button("Edit", to: place.path + "/properties")
        return Page(
            title: user["name"]?.string ?? user["email"]?.string ?? place.id,
            section: .applications,
            trail: place.trail,
            content: """
                <p>\(Self.status(user["userStatus"]?.string))</p>
                \(view.actions)
                <h2>Properties</h2>\(HTML.facts(ids + properties))\("<p>\(edit)</p>", if: visit.role >= .editor)
                <h2>Roles</h2>\(view.roles(of: known))
                <h2>Logins with providers</h2>\(view.identities)
                <h2>Password</h2>\(view.password)
                <h2>Second factors</h2>\(view.factors)
                <h2>Sessions</h2>\(view.sessions)
                <h2>Logins</h2>\(try await history.html { table($0.objects("items"), ofOneUser: true) })
                <p>\(HTML.button("All logins of this user", to: HTML.link("/console/logins", of)))</p>
                """,
            command: "federation get applications/\(place.application)/users/\(place.id)",
            call: "GET /admin/v1/applications/\(place.application)/users/\(place.id)"
        )
    }

    private static let moments = ["created", "updated", "lastLogin"]
}

/// Creates the parts of a user's page.
///
/// It leaves out each button whose call the administration would refuse.
private struct UserView {
    let place: UserPlace
    let person: JSONObject
    let tag: String
    let visit: Visit

    /// Returns a form that consists of one button for one action.
    private func button(_ action: String, _ what: [(String, String)], _ label: String, isGrave: Bool = false) -> HTML {
        visit.form(
            to: place.path,
            """
            \(HTML.hidden("tag", tag))\(HTML.hidden("do", action))\(what.map { HTML.hidden($0.0, $0.1) })\
            <button\(" class=\"danger\"", if: isGrave)>\(label)</button>
            """
        )
    }

    /// Returns a collapsed form for an irreversible action.
    ///
    /// The operator clicks twice: to open the form, and on its button.
    private func graveButton(_ action: String, _ what: [(String, String)], _ label: String, _ word: String) -> HTML {
        "<details><summary>\(word)</summary>\(button(action, what, label, isGrave: true))</details>"
    }

    var actions: HTML {
        guard visit.role >= .editor else { return "" }
        let isDisabled = person.object("user").string("userStatus") == "DISABLED"
        func choice(_ name: String, _ label: String) -> HTML {
            "<button name=\"do\" value=\"\(name)\">\(label)</button>"
        }
        let change = visit.form(
            to: place.path,
            class: "actions",
            """
            \(HTML.hidden("tag", tag))\(isDisabled ? choice("enable", "Enable") : choice("disable", "Disable"))\
            \(choice("signOut", "Revoke all sessions"))\(choice("refresh", "Refresh the profile"))\
            \(HTML.button("Export all data", to: place.path + "/export"))\
            \(HTML.button("The same human as …", to: place.path + "/merge"), if: visit.role >= .owner)
            """
        )
        let erase = visit.form(
            to: place.path,
            """
            \(HTML.hidden("tag", tag))\(HTML.hidden("do", "erase"))\(HTML.grave(
                "Erase this user", "This cannot be undone. To confirm, type the user's objectId", type: place.id,
                attributes: "required", HTML.submit("Erase permanently", "class=\"danger\"")
            ))
            """
        )
        return "\(change)\(erase, if: visit.role >= .owner)"
    }

    /// Returns HTML with the user's roles, and with the application's roles that the user does not have.
    func roles(of known: [String]) -> HTML {
        let given = person.strings("roles")
        let isOwner = visit.role >= .owner
        let table = HTML.table("Roles", of: given, ifEmpty: "No roles assigned.") { role in
            // A role that no longer exists in the application has no effect, and cannot be removed.
            let isTaken = isOwner && known.contains(role)
            return [
                ("Role", "\(role)"),
                ("Action", isTaken ? button("takeRole", [("what", role)], "Remove") : "–"),
            ]
        }
        let options = known.filter { !given.contains($0) }.map { "<option>\($0)</option>" as HTML }
        let give = visit.form(
            to: place.path,
            class: "search",
            """
            \(HTML.hidden("do", "giveRole"))<label>Assign a role <select id="role" name="what">\(options)</select>\
            </label><button>Assign</button>
            """
        )
        return "\(table)\(give, if: isOwner && !options.isEmpty)"
    }

    var identities: HTML {
        .table("Identities", of: person.objects("identities"), ifEmpty: "None.") { identity in
            let permissions = identity.strings("grantedScopes")
            return permissions.isEmpty ? nil : "Permissions: \(permissions.joined(separator: ", "))"
        } _: { identity in
            let key = ["provider", "appId", "subject"].map { ($0, identity.string($0)) }
            let unlink = graveButton("unlink", key, "Unlink", "Unlink")
            return [
                ("Provider", "\(visit.console.methodTitle(identity.string("provider")))"),
                ("Id at the provider", .value(identity["subject"])), ("App", .value(identity["appId"])),
                ("Token stored", .value(identity["tokenKept"])), ("Token expires", .moment(identity["tokenExpires"])),
                ("Last used", .moment(identity["lastUsed"])), ("Revoked", .moment(identity["revoked"])),
                ("Action", visit.role >= .owner ? unlink : "–"),
            ]
        }
    }

    var password: HTML {
        guard let password = person["password"]?.object else { return "<p class=\"empty\">None.</p>" }
        let isConfirmed = person.object("user").bool("emailVerified")
        let reset = button("mail", [("what", "passwordReset")], "Mail a link to choose a new password")
        let confirm = button("mail", [("what", "emailConfirmation")], "Mail the link that confirms the address")
        return """
            \(HTML.facts([("Login", .value(password["login"])), ("Chosen", .moment(password["changed"]))]))
            \("<div class=\"actions\">\(reset)\(confirm, if: !isConfirmed)</div>", if: visit.role >= .editor)
            """
    }

    var factors: HTML {
        .table("Factors", of: person.objects("factors"), ifEmpty: "None.") { factor in
            let what = [("what", factor.string("id"))]
            return [
                ("Kind", .value(factor["kind"])), ("Label", .value(factor["label"] ?? factor["hint"])),
                ("Created", .moment(factor["created"])), ("Last used", .moment(factor["lastUsed"])),
                (
                    "Action",
                    visit.role >= .owner ? graveButton("removeFactor", what, "Remove", "Remove") : "–"
                ),
            ]
        }
    }

    var sessions: HTML {
        .table("Sessions", of: person.objects("sessions"), ifEmpty: "None.") { session in
            let id = session.string("id")
            let end = button("endSession", [("what", id)], "Revoke", isGrave: true)
            return [
                ("Session", "<code>\(id.prefix(8).description)</code>"), ("Opened", .moment(session["created"])),
                ("Last seen", .moment(session["lastSeen"])), ("Expires", .moment(session["expires"])),
                ("From", .value(session["source"])), ("With", .value(session["userAgent"])),
                ("Action", visit.role >= .editor ? end : "–"),
            ]
        }
    }
}
