import FoundationEssentials
import Graph
package import Identity

extension Federation {
    /// Begins a login through the server.
    ///
    /// Whatever can be wrong with the request is found here, before a person is sent to Facebook: the mapping is planned, and where
    /// the login shall end is decided.
    ///
    /// - Returns: The address of Facebook's dialog.
    /// - Throws: What is wrong.
    package func openDialog(_ request: DialogRequest, of loaded: LoadedApplication) throws(Failure) -> String {
        let application = loaded.application
        let (settings, apps) = try loaded.facebook(appID: request.appID)
        guard let app = apps.first else {
            throw LoadedApplication.unusable(cause: "the application has no Facebook app")
        }
        _ = try loaded.plan(for: .facebook, clientMapping: request.mapping)
        let verifier = OneTimeText()
        let dialog = DialogState(
            appID: app.id.text,
            redirectURI: try callbackAddress(for: request, of: application),
            codeVerifier: verifier.secret,
            mapping: try mapping(of: request, for: application),
            end: try DialogEnd(
                request,
                returnURLs: settings.options.returnURLs,
                allowedOrigins: application.settings.allowedOrigins
            ),
            endsAt: Int64(Date().timeIntervalSince1970) + DialogState.seconds
        )
        return graph.url(
            of: LoginDialog(
                app: app.id,
                version: settings.graphVersion,
                redirectURI: dialog.redirectURI,
                state: Secret(Base64URL.encode(dialog.sealed(under: masterKeys, for: application.id))),
                permissions: request.permissions ?? settings.options.permissions,
                authType: request.authType,
                codeChallenge: Base64URL.encode(verifier.hash)
            )
        )
    }

    /// The mapping as far as it counts.
    private func mapping(of request: DialogRequest, for application: Application) throws(Failure) -> JSONValue? {
        guard application.settings.clientMapping, let mapping = request.mapping else { return nil }
        guard mapping.text.utf8.count <= DialogState.mostMappingBytes else {
            throw Failure(
                .malformedRequest,
                """
                fieldsMapping has more than \(DialogState.mostMappingBytes) bytes, the most for a login through the server. Map fewer \
                fields, or let the operator store the mapping.
                """
            )
        }
        return mapping
    }

    /// Where Facebook sends the browser back to.
    ///
    /// A domain that the client names must be one that leads here by the configuration.
    private func callbackAddress(for request: DialogRequest, of application: Application) throws(Failure) -> String {
        var base = request.base
        if let domain = request.callbackURLDomain {
            if let name = application.settings.hostNames.first(where: { $0.hasSameBytes(as: domain) }) {
                base = .host(name)
            } else {
                guard case .key = base, publicHost?.hasSameBytes(as: domain) == true else {
                    throw Failure(
                        .malformedRequest,
                        """
                        callbackUrlDomain is not a host name of this application's. Leave it out, or ask the operator for the \
                        names in the setting hostNames.
                        """
                    )
                }
            }
        }
        return try publicAddress(of: base, for: application) + "/users/oauth/facebook/authorize"
    }
}
