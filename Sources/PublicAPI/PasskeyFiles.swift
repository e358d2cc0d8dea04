import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins

/// The files and the redirect under `/.well-known/` of a host.
///
/// The files state who may use the passkeys of the host. The redirect leads to the page where users change their
/// password. Several applications may have passkeys for the same host; each file then covers all of them.
struct PasskeyFiles {
    let directory: ApplicationDirectory
    let links: AccountLinks

    /// The value of `Cache-Control`: devices and caches keep a file for an hour.
    ///
    /// Every device fetches the files, and the settings that determine them change rarely.
    private static let cacheControl = "public, max-age=3600"

    func mount(on routes: DescribedRouter) {
        file("webauthn", .readRelatedOrigins, on: routes) { (policies) throws(Failure) in
            // Browsers accept only web addresses here. The origin of an app is no web address (WebAuthn level 3 §5.11).
            let origins = policies.flatMap(\.origins).filter { $0.utf8.starts(with: "https://".utf8) }
            return .object(["origins": Self.texts(origins)])
        }
        file("assetlinks.json", .readAssetLinks, on: routes) { (policies) throws(Failure) in
            let statements = policies.flatMap { policy in
                let digests = Self.texts(policy.certificateDigests.map(Self.fingerprint))
                return Set(policy.androidPackages).sorted().map { Self.statement($0, digests) }
            }
            guard !statements.isEmpty else { throw Self.nothing("Android apps") }
            return .array(statements)
        }
        file("apple-app-site-association", .readAppleAppSiteAssociation, on: routes) { (policies) throws(Failure) in
            let apps = policies.flatMap(\.appleApps)
            guard !apps.isEmpty else { throw Self.nothing("Apple apps") }
            return .object(["webcredentials": .object(["apps": Self.texts(apps)])])
        }
        routes.get("/.well-known/change-password", .openChangePassword) { request, _ in
            try changePassword(at: request.hostName ?? "")
        }
    }

    private func file(
        _ name: String,
        _ operation: Operation,
        on routes: DescribedRouter,
        _ content: @escaping @Sendable ([PasskeyPolicy]) throws(Failure) -> JSONValue
    ) {
        routes.get("/.well-known/\(name)", operation) { request, _ in
            let host = request.hostName ?? ""
            let policies = directory.applications.map(\.application.settings.secondFactor.passkeys)
                .filter { $0.relyingPartyID?.utf8.elementsEqual(host.utf8) == true }
            guard !policies.isEmpty else {
                throw Failure(.notFound, "No application uses passkeys on this host.")
            }
            var response = Response.json(try content(policies).bytes)
            response.headers[.cacheControl] = Self.cacheControl
            return response
        }
    }

    /// Redirects to the password page of the host's application (W3C, "A Well-Known URL for Changing Passwords").
    private func changePassword(at host: Substring) throws(Failure) -> Response {
        .seeOther(try links.page(of: try application(at: host)) + "/password")
    }

    /// Returns the application that has the host name.
    ///
    /// If there is none, returns the only application that has both an account page and passkeys for the host.
    private func application(at host: Substring) throws(Failure) -> LoadedApplication {
        if let named = try? directory.application(host: host) { return named }
        let found = directory.applications.filter { loaded in
            let settings = loaded.application.settings
            return settings.pages.account
                && settings.secondFactor.passkeys.relyingPartyID?.utf8.elementsEqual(host.utf8) == true
        }
        guard let application = found.first, found.count == 1 else {
            throw Failure(.notFound, "No application has its account page on this host.")
        }
        return application
    }

    private static func nothing(_ apps: String) -> Failure {
        Failure(.notFound, "No application with passkeys on this host lists its \(apps) in its settings.")
    }

    private static func texts(_ texts: [String]) -> JSONValue { .array(Set(texts).sorted().map(JSONValue.string)) }

    /// Returns the Digital Asset Links statement that lets an Android app use the host's passkeys.
    ///
    /// The statement does not make Android open mailed links in the app.
    private static func statement(_ package: String, _ digests: JSONValue) -> JSONValue {
        .object([
            "relation": .array([.string("delegate_permission/common.get_login_creds")]),
            "target": .object([
                "namespace": .string("android_app"), "package_name": .string(package),
                "sha256_cert_fingerprints": digests,
            ]),
        ])
    }

    /// Returns a digest in the form of `keytool`: `14:6D:E9:…`.
    private static func fingerprint(_ digest: [UInt8]) -> String {
        digest.map { Hexadecimal.encode([$0]).uppercased() }.joined(separator: ":")
    }
}

extension Operation {
    fileprivate static let readRelatedOrigins = Operation(
        "readRelatedOrigins",
        under: "login",
        "The related origins of the host's passkeys (WebAuthn level 3, 5.11).",
        .success(
            "The https origins of the applications with passkeys on this host.",
            .object(["origins": .strings])
        ),
        or: [.notFound]
    )

    fileprivate static let readAssetLinks = Operation(
        "readAssetLinks",
        under: "login",
        "The Android apps that use the passkeys of the host (Digital Asset Links).",
        .success(
            "One statement per package.",
            .array(
                of: .anyObject.adding([
                    "relation": .strings,
                    "target": .anyObject.adding([
                        "namespace": .string.const("android_app"),
                        "package_name": .string,
                        "sha256_cert_fingerprints": .strings,
                    ]),
                ])
            ).rule("minItems", .integer(1))
        ),
        or: [.notFound]
    )

    fileprivate static let readAppleAppSiteAssociation = Operation(
        "readAppleAppSiteAssociation",
        under: "login",
        "The Apple apps that use the passkeys of the host.",
        .success("The apps, by team and bundle.", .object(["webcredentials": .anyObject.adding(["apps": .strings])])),
        or: [.notFound]
    )

    fileprivate static let openChangePassword = Operation(
        "openChangePassword",
        under: "login",
        "Redirects to the page for changing the password (W3C, A Well-Known URL for Changing Passwords).",
        .redirect,
        or: [.notFound]
    )
}
