import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The part of the page of API keys with the service accounts of an application: backends with Firebase's Admin SDKs.
extension Console {
    /// Returns the part; empty if the application has no Firebase project.
    ///
    /// - Parameters:
    ///   - visit: The visit of the page.
    ///   - application: The application, as the API responds it.
    ///   - path: The path of the page.
    ///   - name: The name that the operator has typed for a new account.
    /// - Returns: The part.
    /// - Throws: The failure of a call.
    func serviceAccounts(
        _ visit: Visit,
        of application: JSONObject,
        at path: String,
        typed name: String
    ) async throws -> HTML {
        let project = application["settings"]?.object?["firebase"]?.object?["projectId"]?.string
        let accounts = try await visit.list(["applications", visit.application, "serviceAccounts"]).items
        guard project != nil || !accounts.isEmpty else { return "" }
        let isOwner = visit.role >= .owner
        let table = HTML.table(
            "Service accounts",
            of: accounts,
            ifEmpty: "No service account yet. A backend needs one to administer users with an Admin SDK of Firebase."
        ) { account in
            let name = account.string("name")
            let withdraw = visit.form(
                to: path,
                class: "inline",
                """
                \(HTML.hidden("name", name))\
                <label class="tick"><input type="checkbox" required> Backends with this account stop working</label>\
                <button name="do" value="withdraw" class="danger">Withdraw</button>
                """
            )
            let change: HTML = "<details><summary>Withdraw \(name)</summary>\(withdraw)</details>"
            return [
                ("Name", "<bdi>\(account.string("email"))</bdi>"), ("Created", .moment(account["created"])),
                ("Change", isOwner ? change : "–"),
            ]
        }
        let making = visit.form(
            to: path,
            """
            \(HTML.field("name", "Name", value: name, hint: """
            6 to 30 lower-case letters, digits and dashes, such as backend.
            """, attributes: "required spellcheck=\"false\""))
            <p>Whoever has its key can read, change and delete every user, and log in as any of them.</p>
            <p class="actions"><button name="do" value="account">Create the service account</button></p>
            """
        )
        return """
            <h2>Service accounts</h2>
            \(table)
            \("<h3>Create a service account</h3>\(making)", if: isOwner && project != nil)
            """
    }
}

extension HTML {
    /// A message that shows the key file of a new service account.
    static func made(account: JSONObject) -> HTML {
        made(
            """
            The service account <strong>\(account.string("name"))</strong> is created. Copy its key file now: it \
            is not shown again, because the private key is not stored.
            """,
            account.string("key"),
            "the key file"
        )
    }
}
