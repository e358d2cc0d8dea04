import Curl
import Vocabulary
import Upstream

/// Who asks Graph, and how: an app with its secret, by the settings of the application that it belongs to.
struct GraphCaller {
    let app: ProviderApp
    let settings: FacebookSettings
    let configuration: GraphConfiguration

    /// Takes an app whose secret can be sent: printable ASCII without spaces, and not empty.
    ///
    /// - Throws: `provider_misconfigured`.
    init(_ app: ProviderApp, _ settings: FacebookSettings, _ configuration: GraphConfiguration) throws(Failure) {
        let secret = app.secret.reveal().utf8
        guard !secret.isEmpty, secret.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure(
                .providerMisconfigured,
                "The secret of the Facebook app is missing or has characters that no secret has. The operator has to set it.",
                retryAfter: 60
            )
        }
        self.app = app
        self.settings = settings
        self.configuration = configuration
    }

    /// The token of the app itself.
    var appToken: String { app.id.text + "|" + app.secret.reveal() }

    /// The proof of a token; `now` in Unix seconds, for timed proofs.
    func proof(of token: String, now: Int64) -> AppSecretProof {
        AppSecretProof(of: token, secret: app.secret, form: settings.proof, now: now)
    }

    /// The path to an endpoint, in the application's version of Graph; without one it is the oldest that the app may use.
    func target(_ endpoint: String...) -> Target {
        Target(configuration.basePath, [settings.graphVersion] + endpoint)
    }

    /// The question at a target, asked with a token.
    ///
    /// - Throws: `tooLong` when the target is too long to be sent, `provider_misconfigured` when it is none.
    func question(_ target: Target, bearer: String, tooLong: Failure? = nil) throws(Failure) -> GraphQuestion {
        do throws(CurlError) {
            let url = try configuration.base.withTarget(target.text)
            return GraphQuestion(url: url, bearer: Secret(bearer), version: settings.graphVersion)
        } catch {
            if case .invalidRequest(.urlTooLong) = error, let tooLong { throw tooLong }
            throw ProviderFault(error, of: .facebook).failure
        }
    }

    /// The question by a form to `oauth/access_token`, in which the app names itself and its secret, so that neither is in a URL.
    ///
    /// - Throws: `provider_misconfigured`.
    func question(ofGrant type: String, _ fill: (inout Parameters) -> Void) throws(Failure) -> GraphQuestion {
        var form = Parameters()
        form.add("grant_type", type)
        form.add("client_id", app.id.text)
        form.add("client_secret", app.secret.reveal())
        fill(&form)
        do throws(CurlError) {
            let url = try configuration.base.withTarget(target("oauth", "access_token").text)
            return GraphQuestion(url: url, bearer: nil, version: settings.graphVersion, form: form)
        } catch {
            throw ProviderFault(error, of: .facebook).failure
        }
    }
}
