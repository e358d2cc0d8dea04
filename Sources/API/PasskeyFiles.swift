import Accounts
import Applications
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// The files under `/.well-known/` by which a host tells browsers, telephones and password managers what belongs to it.
///
/// Several applications may share the domain of their passkeys. The host of no application has none of the files.
struct PasskeyFiles {
    let directory: ApplicationDirectory
    let links: AccountLinks

    /// Each device asks for them, and the settings behind them change rarely.
    private static let cacheControl = "public, max-age=3600"

    func mount(on router: Router<APIContext>) {
        file("webauthn", on: router) { (policies) throws(Failure) in
            // Browsers ask for addresses alone, and an app's origin is none (WebAuthn level 3 §5.11).
            let origins = policies.flatMap(\.origins).filter { $0.utf8.starts(with: "https://".utf8) }
            return .object(["origins": Self.texts(origins)])
        }
        file("assetlinks.json", on: router) { (policies) throws(Failure) in
            let statements = policies.flatMap { policy in
                let digests = Self.texts(policy.certificateDigests.map(Self.fingerprint))
                return Set(policy.androidPackages).sorted().map { Self.statement($0, digests) }
            }
            guard !statements.isEmpty else { throw Self.nothing("apps for Android") }
            return .array(statements)
        }
        file("apple-app-site-association", on: router) { (policies) throws(Failure) in
            let apps = policies.flatMap(\.appleApps)
            guard !apps.isEmpty else { throw Self.nothing("apps for Apple's systems") }
            return .object(["webcredentials": .object(["apps": Self.texts(apps)])])
        }
        router.get("/.well-known/change-password") { request, _ in try changePassword(at: request.hostName ?? "") }
    }

    private func file(
        _ name: String,
        on router: Router<APIContext>,
        _ content: @escaping @Sendable ([PasskeyPolicy]) throws(Failure) -> JSONValue
    ) {
        router.get("/.well-known/\(name)") { request, _ in
            let host = request.hostName ?? ""
            let policies = directory.applications.map(\.application.settings.secondFactor.passkeys)
                .filter { $0.relyingPartyID?.utf8.elementsEqual(host.utf8) == true }
            guard !policies.isEmpty else {
                throw Failure(.notFound, "No application has passkeys for this host.")
            }
            var response = Response.json(Array(try content(policies).text.utf8))
            response.headers[.cacheControl] = Self.cacheControl
            return response
        }
    }

    /// Leads to the page on which a user of the host's application changes the password (W3C, "A Well-Known URL for
    /// Changing Passwords").
    private func changePassword(at host: Substring) throws(Failure) -> Response {
        .seeOther(try links.page(of: try application(at: host)) + "/password")
    }

    /// The application whose host it is, or the only one whose passkeys are for it.
    private func application(at host: Substring) throws(Failure) -> LoadedApplication {
        if let named = try? directory.application(host: host) { return named }
        let found = directory.applications.filter { loaded in
            let settings = loaded.application.settings
            return settings.pages.account
                && settings.secondFactor.passkeys.relyingPartyID?.utf8.elementsEqual(host.utf8) == true
        }
        guard let application = found.first, found.count == 1 else {
            throw Failure(.notFound, "No application has its account page at this host.")
        }
        return application
    }

    private static func nothing(_ apps: String) -> Failure {
        Failure(.notFound, "No application with passkeys for this host names its \(apps) among its settings.")
    }

    private static func texts(_ texts: [String]) -> JSONValue { .array(Set(texts).sorted().map(JSONValue.string)) }

    /// Shares the passkeys of the host with an app, and nothing else: mailed links stay the browser's.
    private static func statement(_ package: String, _ digests: JSONValue) -> JSONValue {
        .object([
            "relation": .array([.string("delegate_permission/common.get_login_creds")]),
            "target": .object([
                "namespace": .string("android_app"), "package_name": .string(package),
                "sha256_cert_fingerprints": digests,
            ]),
        ])
    }

    /// As `keytool` writes it: `14:6D:E9:…`.
    private static func fingerprint(_ digest: [UInt8]) -> String {
        digest.map { Hexadecimal.encode([$0]).uppercased() }.joined(separator: ":")
    }
}
