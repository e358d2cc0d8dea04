import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// A route of the administration API, for tests that walk over all routes.
struct AdminRoute: Sendable, CustomStringConvertible {
    let method: String
    /// The path below `/admin/v1/`; ``Walk/names`` fills in names in braces, and a query may follow.
    let path: String
    /// The least role that the route needs.
    let role: Role
    /// A valid body, with names in braces as in the path.
    var json: String?
    var status = 200
    /// The actions of the entries that a success adds to the audit log.
    var audited: [String] = []

    var description: String { "\(method) \(path)" }

    /// The path as in the OpenAPI document, without the names of parameters.
    var pattern: String { "\(method) \(Self.anonymous(path.prefix { $0 != "?" }))" }

    /// Returns a path with nameless parameters, also in place of the constants that this table has for parameters.
    static func anonymous(_ path: some StringProtocol) -> String {
        var parts = path.split(separator: "/").map { $0.hasPrefix("{") ? "{}" : String($0) }
        for index in parts.indices.dropFirst()
        where ["keys", "identities", "providers", "mappings", "sessions"].contains(parts[index - 1]) {
            parts[index] = "{}"
        }
        return parts.joined(separator: "/")
    }

    init(
        _ method: String,
        _ path: String,
        _ role: Role,
        _ json: String? = nil,
        status: Int = 200,
        audited: [String] = []
    ) {
        self.method = method
        self.path = path
        self.role = role
        self.json = json
        self.status = status
        self.audited = audited
    }

    /// All routes, in an order in which each can succeed.
    static let all = reads + editorsChanges + ownersChanges

    private static let application = "applications/{application}"
    private static let mapping = application + "/mappings/facebook"
    private static let otherMapping = application + "/mappings/twitter"
    private static let user = application + "/users/{user}"

    private static let reads = [
        AdminRoute("GET", "openapi.json", .viewer),
        AdminRoute("GET", "application.schema.json", .viewer),
        AdminRoute("GET", "operator", .viewer),
        AdminRoute("POST", "operator/sessions", .viewer, audited: ["operator.session.open"]),
        AdminRoute("GET", "operator/sessions", .viewer),
        // The calling token is no session.
        AdminRoute("DELETE", "operator/sessions/current", .viewer, status: 404),
        // The operator has no factor, and begins to enrol one.
        AdminRoute("GET", "operator/factors", .viewer),
        AdminRoute("POST", "operator/factors", .viewer, #"{"kind": "totp"}"#),
        AdminRoute("POST", "operator/factors/{factor}/confirm", .viewer, #"{"code": "000000"}"#, status: 404),
        AdminRoute("DELETE", "operator/factors/{factor}", .viewer, status: 404),
        AdminRoute("POST", "operator/secondFactor/start", .viewer, status: 400),
        AdminRoute(
            "POST",
            "operator/secondFactor/finish",
            .viewer,
            #"{"pending": "", "factorId": "{factor}", "code": "000000"}"#,
            status: 401
        ),
        // Operators exist, so nobody can become the first.
        AdminRoute("POST", "setup", .viewer, #"{"name": "{operator}.first"}"#, status: 401),
        AdminRoute("GET", "operators", .viewer),
        AdminRoute("GET", "operators/{operator}", .viewer),
        AdminRoute("GET", "audit", .viewer),
        AdminRoute("GET", "logins", .viewer),
        AdminRoute("GET", "logins/counts", .viewer),
        AdminRoute("GET", "secrets", .viewer),
        AdminRoute("GET", "token-keys", .viewer),
        AdminRoute("GET", "doctor", .viewer),
        AdminRoute("GET", "instance", .viewer),
        AdminRoute("GET", "background", .viewer),
        AdminRoute("GET", "mails", .viewer),
        AdminRoute("GET", "mails/{factor}", .viewer, status: 404),
        AdminRoute("GET", "log-level", .viewer),
        AdminRoute("GET", "applications", .viewer),
        AdminRoute("GET", application, .viewer),
        AdminRoute("GET", application + "/document", .viewer),
        AdminRoute("GET", application + "/keys", .viewer),
        AdminRoute("GET", application + "/serviceAccounts", .viewer),
        AdminRoute("GET", application + "/providers/facebook", .viewer),
        AdminRoute("GET", application + "/providers/twitter", .viewer),
        AdminRoute("GET", application + "/properties", .viewer),
        AdminRoute("GET", application + "/properties/{property}", .viewer),
        AdminRoute("GET", mapping, .viewer),
        AdminRoute("GET", mapping + "/revisions", .viewer),
        AdminRoute("GET", mapping + "/revisions/{revision}", .viewer),
        AdminRoute("GET", mapping + "/diff?from={revision}&to={revision}", .viewer),
        AdminRoute("GET", mapping + "/fields", .viewer),
        AdminRoute("POST", mapping + "/preview", .viewer, #"{"profile": {"id": "1"}}"#),
        AdminRoute("GET", otherMapping, .viewer),
        AdminRoute("GET", otherMapping + "/revisions", .viewer),
        AdminRoute("GET", otherMapping + "/revisions/{revision}", .viewer),
        AdminRoute("GET", otherMapping + "/diff?from={revision}&to={revision}", .viewer),
        AdminRoute("GET", otherMapping + "/fields", .viewer),
        AdminRoute("POST", otherMapping + "/preview", .viewer, #"{"profile": {"id_str": "1"}}"#),
        AdminRoute("GET", application + "/users", .viewer, audited: ["user.search"]),
        AdminRoute("GET", application + "/duplicates", .viewer, audited: ["user.search"]),
        AdminRoute("GET", user, .viewer, audited: ["user.read"]),
        AdminRoute("GET", user + "/properties", .viewer, audited: ["user.read"]),
        AdminRoute("GET", user + "/merged", .viewer),
        AdminRoute("GET", application + "/invitations", .viewer),
        AdminRoute("GET", application + "/invitations/{invitation}", .viewer),
        AdminRoute("GET", application + "/imports", .viewer),
        AdminRoute("GET", application + "/imports/{factor}/refusals", .viewer, status: 404),
        AdminRoute(
            "POST",
            application + "/importChecks",
            .viewer,
            #"{"source": "csv", "file": "email\nwalked@example.com\n"}"#,
            audited: ["user.search"]
        ),
        AdminRoute("GET", application + "/bans", .viewer),
        AdminRoute("GET", user + "/export", .editor, audited: ["user.export"]),
        AdminRoute("POST", application + "/providers/facebook/check", .editor),
        AdminRoute("POST", application + "/providers/twitter/check", .editor),
        // The service keeps no token of this user.
        AdminRoute("POST", user + "/refresh", .editor, status: 409),
    ]

    private static let editorsChanges = [
        AdminRoute(
            "POST",
            application + "/properties",
            .editor,
            #"{"name": "added", "type": "INT"}"#,
            status: 201,
            audited: ["property.declare"]
        ),
        AdminRoute(
            "PATCH",
            application + "/properties/{property}",
            .editor,
            #"{"clientMappable": true}"#,
            audited: ["property.change"]
        ),
        AdminRoute(
            "DELETE",
            application + "/properties/{property}?confirm={property}",
            .editor,
            status: 204,
            audited: ["property.remove"]
        ),
        AdminRoute("PUT", mapping, .editor, #"{"email": "email"}"#, audited: ["mapping.facebook.set"]),
        AdminRoute(
            "POST",
            mapping + "/rollback",
            .editor,
            #"{"revision": {revision}}"#,
            audited: ["mapping.facebook.set"]
        ),
        AdminRoute("PUT", otherMapping, .editor, #"{"email": "email"}"#, audited: ["mapping.twitter.set"]),
        AdminRoute(
            "POST",
            otherMapping + "/rollback",
            .editor,
            #"{"revision": {revision}}"#,
            audited: ["mapping.twitter.set"]
        ),
        AdminRoute(
            "POST",
            application + "/users",
            .editor,
            #"{"user": {"email": "{operator}@example.com"}}"#,
            status: 201,
            audited: ["user.create"]
        ),
        AdminRoute("PATCH", user + "/properties", .editor, #"{"name": "Walked"}"#, audited: ["user.update"]),
        // A user who logs in with a provider has no password.
        AdminRoute("POST", user + "/mails", .editor, #"{"mail": "passwordReset"}"#, status: 409),
        AdminRoute("DELETE", user + "/sessions/{session}", .editor, status: 204, audited: ["user.session.end"]),
        AdminRoute("DELETE", user + "/sessions", .editor, status: 204, audited: ["user.sessions.end"]),
        AdminRoute("PATCH", user, .editor, #"{"user": {"userStatus": "DISABLED"}}"#, audited: ["user.disable"]),
        AdminRoute(
            "POST",
            application + "/invitations",
            .editor,
            #"{"identity": {"provider": "facebook", "subject": "4711"}}"#,
            status: 201,
            audited: ["invitation.create"]
        ),
        // An invitation for an identity has no link.
        AdminRoute("POST", application + "/invitations/{invitation}/send", .editor, status: 409),
        AdminRoute(
            "DELETE",
            application + "/invitations/{invitation}",
            .editor,
            status: 204,
            audited: ["invitation.revoke"]
        ),
        AdminRoute("DELETE", application + "/bans/{banned}", .editor, status: 204, audited: ["user.ban.lift"]),
    ]

    private static let ownersChanges = [
        AdminRoute("PUT", user + "/roles/{factor}", .owner, status: 404),
        AdminRoute("DELETE", user + "/roles/{factor}", .owner, status: 404),
        AdminRoute("DELETE", user + "/factors/{factor}", .owner, status: 204, audited: ["user.factor.remove"]),
        AdminRoute("DELETE", user + "/factors", .owner, status: 204, audited: ["user.factor.remove"]),
        // No user has this id.
        AdminRoute("POST", user + "/merge", .owner, #"{"merged": "{factor}", "reason": "walk"}"#, status: 404),
        AdminRoute("POST", application + "/merged/{factor}/undo", .owner, #"{"reason": "walk"}"#, status: 404),
        AdminRoute(
            "DELETE",
            user + "/identities/{provider}/{app}/{subject}",
            .owner,
            status: 204,
            audited: ["user.unlink"]
        ),
        AdminRoute(
            "POST",
            application + "/imports?dryRun=true",
            .owner,
            #"{"source": "csv", "file": "email\nwalked@example.com\n"}"#
        ),
        AdminRoute(
            "POST",
            application + "/identityImports?dryRun=true",
            .owner,
            #"{"provider": "twitter", "file": "email,subject\nnobody@example.com,7\n"}"#
        ),
        AdminRoute(
            "POST",
            application + "/erasures?dryRun=true",
            .owner,
            #"{"provider": "facebook", "ids": "{subject}", "reason": "walked"}"#
        ),
        AdminRoute("DELETE", user + "?confirm={user}", .owner, status: 204, audited: ["user.erase"]),
        AdminRoute(
            "POST",
            application + "/keys",
            .owner,
            #"{"label": "added"}"#,
            status: 201,
            audited: ["key.add"]
        ),
        // The variable that a document named for the key moves to the new label.
        AdminRoute(
            "PATCH",
            application + "/keys/{key}",
            .owner,
            #"{"label": "{key} "}"#,
            audited: ["application.variables", "key.relabel"]
        ),
        AdminRoute("DELETE", application + "/keys/{added}", .owner, status: 204, audited: ["key.revoke"]),
        // The application has no Firebase project.
        AdminRoute("POST", application + "/serviceAccounts", .owner, #"{"name": "backend"}"#, status: 409),
        AdminRoute("DELETE", application + "/serviceAccounts/{factor}", .owner, status: 404),
        AdminRoute(
            "PATCH",
            application + "/providers/facebook",
            .owner,
            #"{"proof": "classic"}"#,
            audited: ["provider.facebook.set"]
        ),
        AdminRoute(
            "PUT",
            application + "/providers/facebook",
            .owner,
            #"{"enabled": true, "proof": "timed", "apps": [{"appId": "{app}"}]}"#,
            audited: ["provider.facebook.set"]
        ),
        AdminRoute(
            "DELETE",
            application + "/providers/facebook",
            .owner,
            status: 204,
            audited: ["provider.facebook.remove"]
        ),
        AdminRoute(
            "PUT",
            application + "/providers/twitter",
            .owner,
            #"{"apps": [{"consumerKey": "walked", "consumerSecret": "walked"}]}"#,
            audited: ["provider.twitter.set", "provider.twitter.apps"]
        ),
        AdminRoute(
            "PATCH",
            application + "/providers/twitter",
            .owner,
            #"{"enabled": false}"#,
            audited: ["provider.twitter.set"]
        ),
        AdminRoute(
            "DELETE",
            application + "/providers/twitter",
            .owner,
            status: 204,
            audited: ["provider.twitter.remove"]
        ),
        AdminRoute(
            "PUT",
            application + "/document",
            .owner,
            #"""
            {"application": "{application}", "name": "Walked", "keys": [{"label": "{key} "}],
             "properties": {"added": {"type": "INT"}},
             "mapping": {"facebook": [{"from": "email", "to": "email"}, {"from": "name", "to": "name"}], "twitter": {"name": "name"}}}
            """#,
            audited: ["application.rename"]
        ),
        AdminRoute("PATCH", application, .owner, #"{"name": "Walked on"}"#, audited: ["application.rename"]),
        AdminRoute(
            "DELETE",
            application + "?confirm={application}",
            .owner,
            status: 204,
            audited: ["application.delete"]
        ),
        AdminRoute(
            "POST",
            "applications",
            .owner,
            #"{"application": "{application}"}"#,
            status: 201,
            audited: ["application.create"]
        ),
        AdminRoute(
            "POST",
            "operators",
            .owner,
            #"{"name": "{operator}.2", "role": "viewer"}"#,
            status: 201,
            audited: ["operator.create", "operator.token.create"]
        ),
        AdminRoute(
            "POST",
            "token-keys/rotate",
            .owner,
            #"{"application": "{application}"}"#,
            audited: ["token-key.rotate"]
        ),
        // The deployment has no mail server.
        AdminRoute("POST", "mails", .owner, #"{"to": "ann@example.com"}"#, status: 503),
        AdminRoute("PUT", "log-level", .owner, #"{"level": "info", "seconds": 1}"#, audited: ["log-level.change"]),
        AdminRoute("PATCH", "operators/{operator}", .owner, #"{"role": "editor"}"#, audited: ["operator.role"]),
        AdminRoute(
            "POST",
            "operators/{operator}/tokens",
            .owner,
            "{}",
            status: 201,
            audited: ["operator.token.create"]
        ),
        AdminRoute(
            "DELETE",
            "operators/{operator}/tokens/{token}",
            .owner,
            status: 204,
            audited: ["operator.token.revoke"]
        ),
        AdminRoute("GET", "operators/{operator}/factors", .owner),
        AdminRoute("DELETE", "operators/{operator}/factors", .owner, status: 404),
        AdminRoute("DELETE", "operators/{operator}/factors/{factor}", .owner, status: 404),
        AdminRoute("DELETE", "operators/{operator}", .owner, status: 204, audited: ["operator.delete"]),
    ]
}

/// The data of a walk over all routes: an application with a user, and an operator.
struct Walk: Sendable {
    /// The values of the names in braces.
    var names: [String: String]

    /// Fills in the names in a text.
    func fill(_ text: String) -> String {
        names.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    /// Sends the request of a route.
    func send(_ route: AdminRoute, by admin: AdminClient) async throws -> HTTPReply {
        try await admin.send(route.method, fill(route.path), route.json.map(fill))
    }
}

extension Deployment {
    /// Creates the data of a walk, in an application of the deployment.
    func walk(in document: Document) async throws -> Walk {
        let application = document.application
        let name = "of-\(application)-\(UInt32.random(in: 0 ... .max))"
        let visitor = try await newcomer()
        let user = try await loggedIn(visitor, to: document)
        _ = try await loggedIn(visitor, to: document)
        let (banned, factor, invitation) = (UUID().uuidString, UUID().uuidString, UUID().uuidString)
        // A second identity, so that one can be removed; a ban, so that it can be lifted; and an invitation.
        try await database.psql(
            """
            insert into \(application).identities (provider, provider_app, subject, object_id)
            values ('facebook', '999', '\(visitor.id)', '\(user.objectID)');
            insert into \(application).factors (id, object_id, kind)
            values ('\(factor)', '\(user.objectID)', 'totp'), (gen_random_uuid(), '\(user.objectID)', 'passkey');
            insert into \(application).single_use (kind, hash, owner, expires)
            values ('banned', sha256(uuid_send('\(banned)')), uuid_send('\(banned)'), now() + interval '1 day');
            insert into \(application).invitations (id, provider, provider_app, subject, invited_by, expires)
            values ('\(invitation)', 'facebook', '1234567890', '9\(visitor.id)', 'x', now() + interval '1 day')
            """
        )
        let owner = try await admin()
        for (part, json) in [
            ("providers/twitter", #"{"enabled": false, "apps": []}"#), ("mappings/twitter", #"{"name": "name"}"#),
        ] {
            try await owner.ask("PUT", "applications/\(application)/\(part)", json)
        }
        let made = try await owner.ask("POST", "operators", #"{"name": "\#(name)", "role": "viewer"}"#)
        let person = try await owner.get("applications/\(application)/users/\(user.objectID)")
        let `operator` = try await owner.get("operators/\(name)")
        try #require(made["token"]?.string?.isEmpty == false)
        return Walk(names: [
            "application": application, "key": "tests", "added": "added", "provider": "facebook", "property": "walked",
            "revision": "1", "user": user.objectID, "banned": banned, "factor": factor,
            "invitation": invitation,
            "session": try #require(person["sessions"]?.array?.first?.object?["id"]?.string),
            "app": "1234567890", "subject": visitor.id, "operator": name,
            "token": try #require(`operator`["tokens"]?.array?.first?.object?["id"]?.string),
        ])
    }
}
