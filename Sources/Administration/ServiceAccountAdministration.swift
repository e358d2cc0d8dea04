import Applications
import Description
package import Domain
package import Encodings
import Store

/// Lists, creates and withdraws the service accounts of an application: backends with Firebase's Admin SDKs.
package struct ServiceAccountAdministration: Sendable {
    let store: Store
    let address: PublicAddress
    let random: RandomSource
    let changes: ApplicationChanges

    /// Returns the service accounts: `{"items": [{"name", "email", "keyId", "created"}], "next": null}`.
    package func list(of application: String) async throws(Failure) -> Page {
        let stored = try await changes.existing(application)
        let accounts = try await store.serviceAccounts(of: stored.id)
        let items = accounts.map { JSONValue.object($0.account.document(created: $0.created)) }
        return Page(items: items, next: nil)
    }

    /// Creates a service account from `{"name"}`.
    ///
    /// - Returns: `{"name", "email", "keyId", "created", "key"}`. `key` is the text of the key file that the Admin SDKs
    ///   read. It is shown only once, since the private key is not stored.
    /// - Throws: `document_invalid`; `conflict` if the application serves no clients of Firebase, if the service has no
    ///   public URL, or if the name is taken.
    package func create(
        of application: String,
        _ document: JSONValue,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        let name = try Self.name(document)
        guard let project = try Application(stored).settings.firebase.projectID else {
            throw Failure(
                .conflict,
                """
                This application has no Firebase project, to which a service account must belong. Set \
                settings.firebase.projectId first.
                """
            )
        }
        guard let url = address.url else {
            throw Failure(
                .conflict,
                """
                This service has no public URL, at which a backend gets its access tokens. Set FEDERATION_PUBLIC_URL \
                first.
                """
            )
        }
        let key = try ServiceAccountKey()
        let account = ServiceAccount(
            id: key.id,
            application: stored.id,
            name: name,
            email: "\(name)@\(project).iam.gserviceaccount.com",
            publicKey: key.publicKey
        )
        let created = try await store.add(account, by: actor)
        var body = account.document(created: created)
        body.append("key", .string(file(of: account, key, project: project, url: url)))
        return Resource(.object(body), tag: nil)
    }

    /// Withdraws a service account: its key and its access tokens become invalid.
    ///
    /// - Throws: `not_found`.
    package func withdraw(
        _ name: String,
        of application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let stored = try await changes.existing(application)
        guard try await store.removeServiceAccount(name, of: stored.id, by: actor) else {
            throw Failure(.notFound, "The application has no service account with this name.")
        }
    }

    /// Returns the key file, in Google's form (docs/protocols/firebase.md §10).
    private func file(of account: ServiceAccount, _ key: ServiceAccountKey, project: String, url: String) -> String {
        let certificates = "https://www.googleapis.com/robot/v1/metadata/x509/"
        let file: JSONObject = [
            "type": .string("service_account"), "project_id": .string(project), "private_key_id": .string(account.id),
            "private_key": .string(key.pem.reveal()), "client_email": .string(account.email),
            "client_id": .string(random.bytes(21).map { String($0 % 10) }.joined()),
            "auth_uri": .string("https://accounts.google.com/o/oauth2/auth"),
            "token_uri": .string(url + PublicAddress.serviceTokenPath),
            "auth_provider_x509_cert_url": .string("https://www.googleapis.com/oauth2/v1/certs"),
            "client_x509_cert_url": .string(certificates + PercentEncoding.encode(account.email)),
            "universe_domain": .string("googleapis.com"),
        ]
        return JSONValue.object(file).text
    }

    private static func name(_ document: JSONValue) throws(Failure) -> String {
        var reader = DocumentReader(origin: .request)
        let object = reader.object(document, at: JSONPointer(), known: ["name"])
        let name = object?["name"]?.string.flatMap { FirebaseSettings.isName($0) ? $0 : nil }
        let rule = "must have 6 to 30 lower-case letters, digits and dashes, with a letter first and no dash last"
        let required = reader.required(name, at: JSONPointer() / "name", rule)
        guard reader.problems.isEmpty, let required else { throw reader.problems.failure }
        return required
    }
}

extension ServiceAccount {
    fileprivate func document(created: Int64) -> JSONObject {
        ["name": .string(name), "email": .string(email), "keyId": .string(id), "created": .integer(created)]
    }
}
