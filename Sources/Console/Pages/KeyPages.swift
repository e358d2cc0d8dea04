import API
import HTTP
import Hummingbird
import Vocabulary

/// The API keys of an application: made and shown once, renamed, revoked.
extension Console {
    func mountKeys(on router: Router<ManagementContext>) {
        let keys: RouterPath = "/console/applications/{application}/keys"
        page(keys, on: router) { visit in try await keysPage(visit) }
        action(keys, on: router) { visit, form in try await changeKeys(visit, form) }
    }

    private func keysPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        _ refusal: Refusal? = nil,
        made: JSONObject? = nil
    ) async throws -> Page {
        let id = visit.parameter("application")
        let path = consolePath("applications", id, "keys")
        let stored = try await visit.call(.init(.get, ["applications", id]))
        let isOwner = visit.role >= .owner
        let tag: HTML = HTML.hidden("tag", stored.tag ?? "")
        let rows = try await visit.list(["applications", id, "keys"]).items.map { key -> [HTML] in
            let label = key["label"]?.string ?? ""
            let former: HTML = "\(tag)\(HTML.hidden("label", label))"
            let rename = visit.form(
                to: path,
                class: "inline",
                """
                \(former)<input name="to" aria-label="New label of \(label)" required spellcheck="false" size="12">\
                <button name="do" value="rename">Rename</button>
                """
            )
            let revoke = visit.form(
                to: path,
                class: "inline",
                """
                \(former)<label class="tick"><input type="checkbox" required> Clients that have \(label) stop working</label>\
                <button name="do" value="revoke" class="danger">Revoke</button>
                """
            )
            let change: HTML = "<details><summary>Change \(label)</summary>\(rename)\(revoke)</details>"
            return [
                "<bdi>\(label)</bdi>", key["server"]?.bool == true ? "a server's" : "for clients",
                .moment(key["created"]), isOwner ? change : "–",
            ]
        }
        let isServer = try typed?.value("server") != nil
        let making = visit.form(
            to: path,
            """
            \(HTML.field("label", "Label", value: (try? typed?.value("label")) ?? "", hint: "Where it is used, such as web or ios.", attributes: "required spellcheck=\"false\""))
            <p><label class="tick"><input type="checkbox" name="server" value="yes"\(" checked", if: isServer)> It is a server's, which may do what clients \
            may not</label></p>
            <p class="actions"><button name="do" value="make" class="primary">Make the key</button></p>
            """
        )
        let page = Page(
            title: "Keys",
            section: .applications,
            trail: Self.trail(of: id),
            content: """
                \(made.map(HTML.made(key:)) ?? "")\(refusal?.alert ?? "")
                \(HTML.table("Keys", ["Label", "Whose", "Made", "Change"], rows, ifEmpty: "None yet: clients need one."))
                \("<h2>A new key</h2>\(making)" as HTML, if: isOwner)
                """,
            command: "federation key list \(id)",
            call: "POST /admin/v1/applications/\(id)/keys"
        )
        return page.answering(refusal)
    }

    private func changeKeys(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let keys = ["applications", visit.parameter("application"), "keys"]
        let (label, tag) = (try form.value("label") ?? "", try form.value("tag"))
        do {
            let notice: Notice
            switch try form.value("do") {
            case "make":
                var body: JSONObject = ["label": .string(label)]
                if try form.value("server") != nil { body.append("server", .bool(true)) }
                let made = try await visit.call(.init(.post, keys, body: .object(body)))
                return .page(try await keysPage(visit, made: made.body?.object))
            case "rename":
                let body: JSONValue = .object(["label": .string(try form.value("to") ?? "")])
                try await visit.call(.init(.patch, keys + [label], body: body, tag: tag))
                notice = .renamed
            case "revoke":
                try await visit.call(.init(.delete, keys + [label], tag: tag))
                notice = .revoked
            default: throw Failure.noSuchButton
            }
            return .done(notice, consolePath("applications", keys[1], "keys"))
        } catch let refusal as Refusal where !refusal.asksForFactor {
            return .page(try await keysPage(visit, form, refusal))
        }
    }
}

extension Failure {
    static let noSuchButton = Failure(.malformedRequest, "There is no such button.")
}

extension HTML {
    /// A key that was just made.
    static func made(key: JSONObject) -> HTML {
        """
        <div class="made" role="status"><p>The key <strong>\(key["label"]?.string ?? "")</strong> is made. It is shown this \
        once; afterwards only its hash is stored:</p><p>\(copied(key["key"]?.string ?? "", "the key"))</p></div>
        """
    }
}
