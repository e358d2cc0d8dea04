import Curl
package import Domain
import Encodings
package import Providers

extension GraphClient {
    /// Revokes all permissions that a user granted to an app.
    ///
    /// The effect is the same as if the user removed the app at Facebook.
    ///
    /// The request is sent once, even while the circuit breaker refuses logins. Its outcome does not affect logins.
    ///
    /// - Parameters:
    ///   - token: An access token or ID token of the user for that app.
    ///   - subject: The user.
    ///   - app: The app.
    ///   - settings: The Graph version and the form of the proof.
    ///   - application: The application of the app.
    ///   - deadline: The moment by which the revocation must be done.
    ///   - now: The current time in Unix seconds, for timed proofs.
    /// - Returns: The outcome.
    package func removePermissions(
        by token: ProviderToken,
        of subject: Subject,
        app: ProviderApp,
        settings: FacebookSettings,
        application: ApplicationID,
        deadline: ContinuousClock.Instant,
        now: Int64
    ) async -> PermissionRemoval {
        let timeout = min(configuration.callTimeout, deadline - .now)
        guard timeout >= RetryBackoff.leastTime else {
            return .failed(.timeout(.facebook, cause: "no time was left to give up permissions"))
        }
        do throws(ProviderFault) {
            let request = try request(for: token, of: subject, app, settings, timeout: timeout, now: now)
            let reply = try await send(request)
            if token.kind == .access {
                link(AppLink.Key(application: application, app: app.id)).note(reply, asked: settings.graphVersion)
            }
            return try PermissionRemovalCall.outcome(reply)
        } catch {
            return .failed(error.failure)
        }
    }

    private func request(
        for token: ProviderToken,
        of subject: Subject,
        _ app: ProviderApp,
        _ settings: FacebookSettings,
        timeout: Duration,
        now: Int64
    ) throws(ProviderFault) -> HTTPRequest {
        let (text, caller): (TokenText, GraphCaller)
        do throws(Failure) {
            text = try TokenText(token.text)
            caller = try GraphCaller(app, settings, configuration)
        } catch {
            throw ProviderFault(error, .untold)
        }
        do throws(CurlError) {
            return switch token.kind {
            // Facebook issues no refresh tokens.
            case .access, .refresh:
                try PermissionRemovalCall.removal(by: text, of: subject, caller, timeout: timeout, now: now)
            case .id: try PermissionRemovalCall.uninstall(by: text, caller, timeout: timeout)
            }
        } catch {
            throw ProviderFault(error, of: .facebook)
        }
    }

    private func send(_ request: HTTPRequest) async throws(ProviderFault) -> GraphReply {
        let running = ProviderCall.permissionRemoval.begin()
        do throws(CurlError) {
            let reply = GraphReply(try await curl.send(request))
            running.end()
            return reply
        } catch {
            running.end(error)
            throw ProviderFault(error, of: .facebook)
        }
    }
}

/// The requests that revoke the permissions of a user.
///
/// With an access token, the request is `DELETE /{user}/permissions`. Graph does not accept ID tokens of Limited Login,
/// so a request with an ID token uninstalls Limited Login instead (docs/protocols/facebook.md §1.4, §4.1).
enum PermissionRemovalCall {
    static func removal(
        by token: TokenText,
        of subject: Subject,
        _ caller: GraphCaller,
        timeout: Duration,
        now: Int64
    ) throws(CurlError) -> HTTPRequest {
        let configuration = caller.configuration
        var target = caller.target(subject.text, "permissions")
        target.add(caller.proof(of: token.text, now: now))
        return try HTTPRequest(
            method: .delete,
            url: try configuration.base.withTarget(target.text),
            headers: [("Authorization", "Bearer " + token.text)],
            timeout: timeout,
            connectTimeout: min(timeout, configuration.connectTimeout),
            maxReplyBytes: configuration.maxReplyBytes
        )
    }

    static func uninstall(
        by token: TokenText,
        _ caller: GraphCaller,
        timeout: Duration
    ) throws(CurlError) -> HTTPRequest {
        let configuration = caller.configuration
        var form = Parameters()
        form.add("id_token", token.text)
        form.add("app_id", caller.app.id.text)
        return try HTTPRequest(
            method: .post,
            url: try configuration.limitedBase.withTarget("/platform/uninstall/"),
            body: form.bytes,
            timeout: timeout,
            connectTimeout: min(timeout, configuration.connectTimeout),
            maxReplyBytes: configuration.maxReplyBytes,
            reusesConnection: false
        )
    }

    /// Reads the response to a request that revokes permissions.
    ///
    /// A success is `true` in Facebook's documentation and `{"success": true}` elsewhere.
    ///
    /// - Throws: `ProviderFault` for a response that is neither a success nor a verdict on the token.
    static func outcome(_ reply: GraphReply) throws(ProviderFault) -> PermissionRemoval {
        if reply.status == 200, let value = try? JSONParser.parse(reply.body, limits: .reply),
            value.bool ?? value.object?["success"]?.bool ?? false
        {
            return .removed
        }
        guard case .error(let error) = try reply.content() else {
            throw reply.misshapen("an end of permissions that is none")
        }
        let fault = reply.fault(error, of: .userToken, isGraphToken: true)
        switch fault.failure.reason {
        case .credentialInvalid, .credentialExpired, .credentialRevoked: return .tokenIsDead(fault.failure)
        default: throw fault
        }
    }
}
