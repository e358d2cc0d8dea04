import API
import HTTP
import Hummingbird
import Vocabulary

/// The invitations of an application: made, sent again, taken back.
extension Console {
    func mountInvitations(on router: Router<ManagementContext>) {
        page("/console/applications/{application}/invitations", on: router) { visit in try await invitations(visit) }
        action("/console/applications/{application}/invitations", on: router) { visit, form in
            let application = visit.parameter("application")
            let path = ["applications", application, "invitations"]
            let here = consolePath("applications", application, "invitations")
            do {
                if let id = try form.value("send") {
                    try await visit.call(.init(.post, path + [id, "send"]))
                    return .done(.mailed, here)
                }
                if let id = try form.value("revoke") {
                    try await visit.call(.init(.delete, path + [id]))
                    return .done(.revoked, here)
                }
                do {
                    let document = try Self.invitation(in: form)
                    let made = try await visit.call(.init(.post, path, body: .object(document))).body?.object
                    return .page(try await invitations(visit, made: made))
                } catch let failure as Failure {
                    throw Refusal(failure)
                }
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await invitations(visit, refusal, form))
            }
        }
    }

    /// What the form says, as the administration takes it; what is left empty is not there.
    private static func invitation(in form: FormFields) throws(Failure) -> JSONObject {
        var document = JSONObject()
        func text(_ name: String) throws(Failure) -> String? {
            let text = try form.value(name) ?? ""
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
        let roles = form.all.filter { $0.name == "role" }.map { JSONValue.string($0.value) }
        if !roles.isEmpty { document.append("roles", .array(roles)) }
        if let properties = try text("properties") {
            document.append("properties", try Self.parsed(properties, "field for properties"))
        }
        if let days = try text("days") {
            // What is no number is told by the administration.
            let seconds = Int64(days).flatMap { $0.multipliedReportingOverflow(by: 86_400) }
            let isCount = seconds.map { !$0.overflow } ?? false
            document.append("expiresInSeconds", isCount ? .integer(seconds?.partialValue ?? 0) : .string(days))
        }
        if let locale = try text("locale") { document.append("locale", .string(locale)) }
        return document
    }

    private func invitations(
        _ visit: Visit,
        _ refusal: Refusal? = nil,
        _ typed: FormFields? = nil,
        made: JSONObject? = nil
    ) async throws -> Page {
        let application = visit.parameter("application")
        let path = consolePath("applications", application, "invitations")
        let states = InvitationState.allCases.map(\.rawValue)
        let state = visit.query["state"] ?? ""
        let filter = state.isEmpty ? [] : [(name: "state", value: state)]
        let document = try await visit.read(["applications", application, "document"]).object
        let found = try await visit.list(
            ["applications", application, "invitations"],
            query: [("limit", "50")] + filter + visit.cursor
        )
        let rows = found.items.map { row(of: $0, in: application, at: path, visit) }
        let closed: HTML = """
            <p class="empty">This application takes new users without an invitation, or none at all: the setting \
            <code>newUsers</code> is not <code>invited</code>.</p>
            """
        let isAsked = document?["settings"]?.object?["newUsers"]?.string == NewUsers.invited.rawValue
        let page = Page(
            title: "Invitations",
            section: .applications,
            trail: Self.trail(of: application),
            content: """
                \(made.map { Self.made(invitation: $0) } ?? "")\(refusal?.alert ?? "")\(closed, if: !isAsked)
                <form class="search" role="search">\(HTML.choice("state", "State", states, chosen: state))
                <button>Show</button></form>
                \(HTML.table("Invitations", [
                    "For", "State", "Roles", "Invited by", "Made", "Ends", "Sent", "User", "What to do",
                ], rows, ifEmpty: "None."))\(HTML.next(found.next, of: path, filter))
                \(visit.role >= .editor ? try inviting(document, at: path, visit, typed) : "")
                """,
            command: "federation invitation list \(application)",
            call: "POST /admin/v1/applications/\(application)/invitations"
        )
        return page.answering(refusal)
    }

    private func row(
        of invitation: JSONObject,
        in application: String,
        at path: String,
        _ visit: Visit
    ) -> [HTML] {
        let id = invitation["id"]?.string ?? ""
        let identity = invitation["identity"]?.object
        let contact: HTML =
            identity.map { "\($0["provider"]?.string ?? "") <code>\($0["subject"]?.string ?? "")</code>" }
            ?? .value(invitation["email"] ?? invitation["phone"])
        let state = invitation["state"]?.string ?? ""
        let send: HTML = "<button name=\"send\" value=\"\(id)\">Send again</button> "
        let actions = visit.form(
            to: path,
            "\(send, if: state == "open" && identity == nil)<button class=\"danger\" name=\"revoke\" value=\"\(id)\">Take back</button>"
        )
        let user = invitation["objectId"]?.string.map { user -> HTML in
            "<a href=\"\(consolePath("applications", application, "users", user))\"><code>\(user)</code></a>"
        }
        let roles = (invitation["roles"]?.array ?? []).compactMap(\.string).joined(separator: ", ")
        return [
            contact, "<span class=\"tag\">\(state)</span>", "\(roles.isEmpty ? "–" : roles)",
            .value(invitation["invitedBy"]), .moment(invitation["created"]), .moment(invitation["expires"]),
            .value(invitation["sent"]), user ?? "–", visit.role >= .editor && state != "accepted" ? actions : "–",
        ]
    }

    private func inviting(
        _ document: JSONObject?,
        at path: String,
        _ visit: Visit,
        _ typed: FormFields?
    ) throws(Failure) -> HTML {
        func value(_ name: String) throws(Failure) -> String { try typed?.value(name) ?? "" }
        let chosen = typed?.all.filter { $0.name == "role" }.map(\.value) ?? []
        let known = document?["settings"]?.object?["roles"]?.array?.compactMap(\.string) ?? []
        let roles = known.map { role -> HTML in
            """
            <label class="choice"><input type="checkbox" name="role" value="\(role)"\(" checked", if: chosen.contains(role))> \
            \(role)</label>
            """
        }
        let providers = document?["providers"]?.object?.members.map(\.key) ?? []
        let provider = try value("provider")
        let options = HTML.options(providers.map { ($0, methodTitle($0)) }, chosen: provider)
        let isShown = try typed?.value("shown") != nil
        let hasSubject = try !value("subject").isEmpty
        let form = visit.form(
            to: path,
            """
            \(HTML.field("contact", "E-mail address or telephone number", value: try value("contact"), hint: """
            The link goes there. A number begins with + and the country, such as +41.
            """, attributes: "maxlength=\"254\" spellcheck=\"false\" autocomplete=\"off\""))
            <p class="field"><label><input type="checkbox" name="shown" value="yes"\(" checked", if: isShown)> Show the \
            link here in place of sending it</label></p>
            <details\(" open", if: hasSubject)><summary>Or somebody by the id at a provider</summary>
            <p class="field"><label for="provider">Provider</label><select id="provider" name="provider">\(options)</select></p>
            \(HTML.field("subject", "Id of the person there", value: try value("subject"), hint: """
            The login of this person takes the invitation; there is no link.
            """, attributes: "spellcheck=\"false\" autocomplete=\"off\""))
            \(HTML.field("app", "Id of the app there", value: try value("app"), hint: """
            Where the application has several there.
            """, attributes: "spellcheck=\"false\" autocomplete=\"off\""))</details>
            \("<fieldset><legend>Roles</legend>\(roles)</fieldset>" as HTML, if: !roles.isEmpty && visit.role >= .owner)
            <p class="field"><label for="properties">Properties, as JSON</label>
            <textarea id="properties" name="properties" rows="3" spellcheck="false">\(try value("properties"))</textarea></p>
            \(HTML.field("days", "Days for which it counts", value: try value("days"), hint: "1 to 90; 7 if left empty.",
                attributes: "inputmode=\"numeric\""))
            \(HTML.field("locale", "Language of the mail", value: try value("locale"), hint: "Such as de.",
                attributes: "maxlength=\"35\""))
            <p><button>Invite</button></p>
            """
        )
        return "<h2>A new invitation</h2>\(form)"
    }

    /// What was just made, with the link where that was not sent.
    private static func made(invitation: JSONObject) -> HTML {
        guard let link = invitation["link"]?.string else {
            return "<p class=\"notice\" role=\"status\">The invitation is made.</p>"
        }
        return """
            <div class="made" role="status"><p>The invitation is made. This is its link. It is shown this once; afterwards only \
            a hash of it is stored:</p><p>\(HTML.copied(link, "the link"))</p>
            <p>Hand it over by a way that nobody else reads: whoever has it becomes the user.</p></div>
            """
    }
}
