import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which operators create, rename and revoke an application's API keys.
///
/// The page shows a key only once, after its creation. The page also has the service accounts.
extension Console {
    func mountKeys(on router: Router<ManagementContext>) {
        let keys: RouterPath = "/console/applications/{application}/keys"
        page(keys, on: router) { visit in try await keysPage(visit) }
        action(keys, on: router, again: { visit, form, _ in try await keysPage(visit, form) }) { visit, form in
            try await changeKeys(visit, form)
        }
    }

    private func keysPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        made: JSONObject? = nil,
        madeAccount: JSONObject? = nil
    ) async throws -> Page {
        let id = visit.application
        let path = consolePath("applications", id, "keys")
        let stored = try await visit.call(.get, ["applications", id])
        let isOwner = visit.role >= .owner
        let keys = try await visit.list(["applications", id, "keys"]).items
        let table = HTML.table(
            "Keys",
            of: keys,
            ifEmpty: "No API keys yet. Clients need one: create it below."
        ) { key in
            let label = key.string("label")
            func form(_ content: HTML) -> HTML {
                let former: HTML = "\(HTML.hidden("tag", stored.tag ?? ""))\(HTML.hidden("label", label))"
                return visit.form(to: path, class: "inline", "\(former)\(content)")
            }
            let rename = form(
                """
                <input name="to" aria-label="New label of \(label)" required spellcheck="false" size="12">\
                <button name="do" value="rename">Rename</button>
                """
            )
            let revoke = form(
                """
                <label class="tick"><input type="checkbox" required> Clients with the key \(label) stop working</label>\
                <button name="do" value="revoke" class="danger">Revoke</button>
                """
            )
            let change: HTML = "<details><summary>Change \(label)</summary>\(rename)\(revoke)</details>"
            return [
                ("Label", "<bdi>\(label)</bdi>"), ("For", key.bool("server") ? "server" : "client"),
                ("Created", .moment(key["created"])), ("Change", isOwner ? change : "–"),
            ]
        }
        let isServer = !typed.typed("server").isEmpty
        let attributes: HTML = "required spellcheck=\"false\""
        let making = visit.form(
            to: path,
            """
            \(HTML.field("label", "Label", value: typed.typed("label"), hint: """
            Where the key is used, such as web or ios.
            """, attributes: attributes))
            <p>\(HTML.tick("server", "Server key: has rights that clients do not have", isTicked: isServer))</p>
            <p class="actions"><button name="do" value="make" class="primary">Create the key</button></p>
            """
        )
        let accounts = try await serviceAccounts(
            visit,
            of: stored.object,
            at: path,
            typed: typed.typed("name")
        )
        return Page(
            title: "Keys",
            section: .applications,
            trail: Self.trail(of: id),
            content: """
                \(made.map(HTML.made(key:)))
                \(madeAccount.map(HTML.made(account:)))
                \(table)
                \("<h2>Create a key</h2>\(making)", if: isOwner)
                \(accounts)
                """,
            command: "federation list applications/\(id)/keys",
            call: "POST /admin/v1/applications/\(id)/keys"
        )
    }

    private func changeKeys(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let keys = ["applications", visit.application, "keys"]
        let here = consolePath("applications", visit.application, "keys")
        let accounts = ["applications", visit.application, "serviceAccounts"]
        switch try form.value("do") {
        case "account":
            let body: JSONObject = ["name": .string(try form.text("name"))]
            return .page(try await keysPage(visit, madeAccount: try await visit.call(.post, accounts, body).object))
        case "withdraw":
            try await visit.call(.delete, accounts + [try form.text("name")])
            return .done(.revoked, here)
        default: break
        }
        let (label, tag) = (try form.text("label"), try form.value("tag"))
        switch try form.value("do") {
        case "make":
            var body: JSONObject = ["label": .string(label)]
            if try form.value("server") != nil { body.append("server", .bool(true)) }
            return .page(try await keysPage(visit, made: try await visit.call(.post, keys, body).object))
        case "rename":
            try await visit.call(.patch, keys + [label], ["label": .string(try form.text("to"))], tag: tag)
            return .done(.renamed, here)
        case "revoke":
            try await visit.call(.delete, keys + [label], tag: tag)
            return .done(.revoked, here)
        default: throw Failure.noSuchButton
        }
    }
}

extension Failure {
    static let noSuchButton = Failure(.malformedRequest, "This action does not exist. Reload the page.")
}

extension HTML {
    /// A message that shows a new API key.
    static func made(key: JSONObject) -> HTML {
        made(
            """
            The key <strong>\(key.string("label"))</strong> is created. Copy it now: it is not shown again, because \
            only its hash is stored.
            """,
            key.string("key"),
            "the key"
        )
    }
}
