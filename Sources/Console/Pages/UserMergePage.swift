import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which an operator makes another user a part of one, and undoes such merges.
///
/// It first asks for the other user. Then it shows both values of each property, and the operator chooses.
extension Console {
    func mountUserMerge(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/users/{objectId}/merge"
        page(path, on: router) { visit in try await mergePage(visit) }
        action(path, on: router) { visit, form in
            let place = UserPlace(visit)
            let other = try form.text("other")
            do {
                if try form.value("do") == "undo" {
                    let body: JSONObject = ["reason": .string(try form.text("reason"))]
                    try await visit.call(.post, ["applications", place.application, "merged", other, "undo"], body)
                    return .done(.unmerged, UserPlace(application: place.application, id: other).path)
                }
                let tag = try form.value("tag")
                try await visit.call(.post, place.call + ["merge"], try Self.merge(other, form), tag: tag)
                return .done(.merged, place.path)
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await mergePage(visit, form, refusal))
            }
        }
    }

    /// The body of the administration API's call, from the form with a choice for each property.
    private static func merge(_ other: String, _ form: FormFields) throws -> JSONObject {
        guard try form.text("confirm").trimmed.hasSameBytes(as: other) else {
            throw Refusal(Failure(.malformedRequest, "Type the objectId of the other user to confirm."))
        }
        let names = form.texts("property")
        let rules = try names.map { name in
            JSONObject.Member(name, .string(try form.text("rule-\(name)") == "merged" ? "take" : "keep"))
        }
        return [
            "merged": .string(other), "reason": .string(try form.text("reason")),
            "properties": .object(JSONObject(rules)),
        ]
    }

    private func mergePage(
        _ visit: Visit,
        _ form: FormFields? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        try visit.require(.owner)
        let place = UserPlace(visit)
        let typed = form.typed("do") == "undo" ? "" : form.typed("other")
        let other = (typed.isEmpty ? visit.query["other"] ?? "" : typed).trimmed
        let merged = try await visit.list(place.call + ["merged"])
        var refusal = refusal
        var choices: HTML = ""
        if !other.isEmpty {
            do {
                let preview = try await visit.call(
                    .post,
                    place.call + ["merge"],
                    ["merged": .string(other)],
                    query: [("dryRun", "true")]
                )
                let tag = try await visit.call(.get, place.call).tag ?? ""
                choices = self.choices(preview.object, tag, other, place, form, visit)
            } catch let failed as Refusal where !failed.asksForFactor {
                refusal = refusal ?? failed
            }
        }
        var page = Page(
            title: "The same human as …",
            section: .applications,
            trail: place.trail + [(place.id, place.path)],
            content: """
                \(refusal?.alert)
                <p>The other user becomes a part of this one, who gets the login methods, second factors and roles of \
                both. Both are logged out everywhere. A mail to their confirmed addresses has a link that undoes the \
                merge for seven days.</p>
                <form action="\(place.path)/merge" class="search">
                \(HTML.field("other", "objectId of the other user", value: other, attributes: """
                required autocomplete="off" spellcheck="false"
                """))
                <button>Compare</button></form>
                \(choices)
                <h2>Users merged into this one</h2>\(table(of: merged.items, place, visit))
                <p>\(HTML.button("Back", to: place.path))</p>
                """,
            command: "federation user merge \(place.application) \(place.id) OTHER --dry-run",
            call: "POST /admin/v1/applications/\(place.application)/users/\(place.id)/merge"
        )
        if let refusal { page.status = refusal.status }
        return page
    }

    /// Returns the form with both values of each property, of which the operator chooses one.
    private func choices(
        _ preview: JSONObject,
        _ tag: String,
        _ other: String,
        _ place: UserPlace,
        _ form: FormFields?,
        _ visit: Visit
    ) -> HTML {
        let password: HTML =
            switch preview.string("password") {
            case "kept": "This user keeps its password. A password of the other user stops working."
            case "taken": "This user has no password, and gets the other one with its login name."
            default: "Neither user has a password."
            }
        let properties = preview.object("properties").members
        let table = HTML.table("Properties", of: properties, ifEmpty: "Neither user has properties.") { member in
            let property = member.value.object ?? JSONObject()
            let name = "rule-\(member.key)"
            let sent = form.typed(name)
            let chosen = sent.isEmpty ? property.string("result") : sent
            let select = HTML.options([("survivor", "this user's"), ("merged", "the other one's")], chosen: chosen)
            return [
                ("Property", "\(member.key)"), ("This user", .value(property["survivor"])),
                ("The other user", .value(property["merged"])),
                (
                    "Which stays",
                    """
                    \(HTML.hidden("property", member.key))<select id="\(name)" name="\(name)" \
                    aria-label="Which stays: \(member.key)">\(select)</select>
                    """
                ),
            ]
        }
        let reason = HTML.field(
            "reason",
            "Reason, for the audit log",
            value: form.typed("reason"),
            attributes: "required maxlength=\"500\" autocomplete=\"off\""
        )
        let confirmation = HTML.field(
            "confirm",
            "To confirm, type the objectId of the other user",
            hint: "\(other)",
            attributes: "required autocomplete=\"off\" spellcheck=\"false\""
        )
        return visit.form(
            to: place.path + "/merge",
            """
            \(HTML.hidden("tag", tag))\(HTML.hidden("other", other))
            <h2>What becomes of both</h2>
            <p>Status: \(Self.status(preview.string("userStatus"))) \(password)</p>
            \(table)
            \(reason)\(confirmation)
            \(HTML.submit("Merge", "class=\"danger\""))
            """
        )
    }

    private func table(of merged: [JSONObject], _ place: UserPlace, _ visit: Visit) -> HTML {
        .table("Merged users", of: merged, ifEmpty: "None.") { user in
            let id = user.string("objectId")
            let reason = HTML.field(
                "reason",
                "Reason",
                id: "reason-\(id)",
                attributes: "required maxlength=\"500\" autocomplete=\"off\""
            )
            let undo = visit.form(
                to: place.path + "/merge",
                """
                \(HTML.hidden("other", id))\(HTML.hidden("do", "undo"))\(reason)\
                <button class="danger">Undo the merge</button>
                """
            )
            let isFinal = user["undoUntil"]?.integer == nil
            return [
                ("Former objectId", "<code>\(id)</code>"), ("Merged", .moment(user["merged"])),
                ("Can be undone until", .moment(user["undoUntil"])),
                ("Action", isFinal ? "–" : "<details><summary>Undo</summary>\(undo)</details>"),
            ]
        }
    }
}

extension String {
    /// The text without white space at its ends, which a pasted id may have.
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
