import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which operators create, resend and revoke an application's invitations.
extension Console {
    func mountInvitations(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/invitations"
        page(path, on: router) { visit in try await invitations(visit) }
        action(path, on: router, again: { visit, form, _ in try await invitations(visit, form) }) { visit, form in
            let call = ["applications", visit.application, "invitations"]
            let here = consolePath("applications", visit.application, "invitations")
            if let id = try form.value("send") {
                try await visit.call(.post, call + [id, "send"])
                return .done(.mailed, here)
            }
            if let id = try form.value("revoke") {
                try await visit.call(.delete, call + [id])
                return .done(.revoked, here)
            }
            let made = try await visit.call(.post, call, try Self.invitation(in: form)).object
            return .page(try await invitations(visit, made: made))
        }
    }

    /// Creates the JSON body of the call that creates an invitation; empty form fields are left out.
    private static func invitation(in form: FormFields) throws(Failure) -> JSONObject {
        var document = JSONObject()
        func text(_ name: String) throws(Failure) -> String? {
            let text = try form.text(name)
            return text.isEmpty ? nil : text
        }
        if let contact = try text("contact") {
            document.append(contact.utf8.contains(UInt8(ascii: "@")) ? "email" : "phone", .string(contact))
        }
        if let subject = try text("subject") {
            var identity: JSONObject = ["provider": .string(try text("provider") ?? ""), "subject": .string(subject)]
            if let app = try text("app") { identity.append("appId", .string(app)) }
            document.append("identity", .object(identity))
        } else if try form.value("shown") != nil {
            document.append("send", .bool(false))
        }
        let roles = form.texts("role")
        if !roles.isEmpty { document.append("roles", .array(roles.map(JSONValue.string))) }
        if let properties = try text("properties") {
            document.append("properties", try Self.parsed(properties, "properties"))
        }
        if let days = try text("days") {
            // The administration rejects a text that is not a number.
            let seconds = Int64(days).flatMap { $0.multipliedReportingOverflow(by: 86_400) }
            let isCount = seconds.map { !$0.overflow } ?? false
            document.append("expiresInSeconds", isCount ? .integer(seconds?.partialValue ?? 0) : .string(days))
        }
        if let locale = try text("locale") { document.append("locale", .string(locale)) }
        return document
    }

    private func invitations(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        made: JSONObject? = nil
    ) async throws -> Page {
        let application = visit.application
        let path = consolePath("applications", application, "invitations")
        let states = InvitationState.allCases.map(\.rawValue)
        let state = visit.query["state"] ?? ""
        let filter = state.isEmpty ? [] : [(name: "state", value: state)]
        let document = try await visit.object(["applications", application, "document"])
        let found = try await visit.list(
            ["applications", application, "invitations"],
            query: [("limit", "50")] + filter + visit.cursor
        )
        let table = HTML.table("Invitations", of: found.items, ifEmpty: "No invitations.") { invitation in
            row(of: invitation, in: application, at: path, visit)
        }
        let closed: HTML = """
            <p class="empty">Invitations have no effect now. To require them, set <code>newUsers</code> to \
            <code>invited</code>.</p>
            """
        let isAsked = document.object("settings")["newUsers"]?.string == NewUsers.invited.rawValue
        return Page(
            title: "Invitations",
            section: .applications,
            trail: Self.trail(of: application),
            content: """
                \(made.map(Self.made))\(closed, if: !isAsked)
                <form class="search" role="search">\(HTML.choice("state", "State", states, chosen: state))
                <button>Show</button></form>
                \(table)\(HTML.next(found.next, of: path, filter))
                \(inviting(document, at: path, visit, typed), if: visit.role >= .editor)
                """,
            command: "federation list applications/\(application)/invitations",
            call: "POST /admin/v1/applications/\(application)/invitations"
        )
    }

    private func row(
        of invitation: JSONObject,
        in application: String,
        at path: String,
        _ visit: Visit
    ) -> [(column: String, cell: HTML)] {
        let id = invitation.string("id")
        let identity = invitation["identity"]?.object
        let contact: HTML =
            identity.map { "\($0.string("provider")) <code>\($0.string("subject"))</code>" }
            ?? .value(invitation["email"] ?? invitation["phone"])
        let state = invitation.string("state")
        let send: HTML = "<button name=\"send\" value=\"\(id)\">Send again</button> "
        let actions = visit.form(
            to: path,
            """
            \(send, if: state == "open" && identity == nil)<button class="danger" name="revoke" \
            value="\(id)">Revoke</button>
            """
        )
        let user = invitation["objectId"]?.string.map { user -> HTML in
            "<a href=\"\(consolePath("applications", application, "users", user))\"><code>\(user)</code></a>"
        }
        let roles = invitation.strings("roles").joined(separator: ", ")
        return [
            ("For", contact), ("State", .tag(state)), ("Roles", "\(roles.isEmpty ? "–" : roles)"),
            ("Invited by", .value(invitation["invitedBy"])), ("Created", .moment(invitation["created"])),
            ("Expires", .moment(invitation["expires"])), ("Sent", .value(invitation["sent"])), ("User", user ?? "–"),
            ("Action", visit.role >= .editor && state != "accepted" ? actions : "–"),
        ]
    }

    private func inviting(
        _ document: JSONObject,
        at path: String,
        _ visit: Visit,
        _ typed: FormFields?
    ) -> HTML {
        func field(_ name: String, _ label: HTML, _ hint: HTML, _ attributes: HTML) -> HTML {
            .field(name, label, value: typed.typed(name), hint: hint, attributes: attributes)
        }
        let plain: HTML = "spellcheck=\"false\" autocomplete=\"off\""
        let chosen = typed?.texts("role") ?? []
        let roles = document.object("settings").strings("roles").map { role -> HTML in
            .tick("role", "\(role)", value: role, isTicked: chosen.contains(role))
        }
        let isShown = !typed.typed("shown").isEmpty
        let form = visit.form(
            to: path,
            """
            \(field("contact", "E-mail address or telephone number", """
            The link is sent there. A number begins with + and the country code, such as +41.
            """, "maxlength=\"254\" \(plain)"))
            <p>\(HTML.tick("shown", "Show the link here instead of sending it", isTicked: isShown))</p>
            <details\(" open", if: !typed.typed("subject").isEmpty)><summary>Or invite by id at a provider</summary>
            \(HTML.select("provider", "Provider", methods(of: document), chosen: typed.typed("provider")))
            \(field("subject", "User's id at the provider", """
            This user's first login accepts the invitation. No link is sent.
            """, plain))
            \(field("app", "App id at the provider", "Only if the application has several apps.", plain))</details>
            \("<fieldset><legend>Roles</legend>\(roles)</fieldset>", if: !roles.isEmpty && visit.role >= .owner)
            \(HTML.area("properties", "Properties, as JSON", typed.typed("properties"), rows: 3))
            \(field("days", "Valid for, in days", "1 to 90, default 7.", "inputmode=\"numeric\""))
            \(field("locale", "Language of the mail", "Such as de.", "maxlength=\"35\""))
            \(HTML.submit("Invite"))
            """
        )
        return "<h2>Invite a user</h2>\(form)"
    }

    /// Returns the providers of an application as options of a select element.
    func methods(of document: JSONObject) -> [(value: String, title: String)] {
        document.object("providers").members.map { ($0.key, methodTitle($0.key)) }
    }

    /// Returns a message about a new invitation.
    ///
    /// The message contains the link if the service did not send it.
    private static func made(_ invitation: JSONObject) -> HTML {
        guard let link = invitation["link"]?.string else { return .notice("The invitation is created.") }
        return .made(
            "The invitation is created. Copy its link now: it is not shown again, because only a hash of it is stored.",
            link,
            "the link",
            "Send it over a private channel: anyone with the link can become the user."
        )
    }
}
