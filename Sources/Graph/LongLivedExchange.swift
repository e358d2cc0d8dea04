internal import Curl
internal import Identity

/// `oauth/access_token` for a token that is to live longer.
enum LongLivedExchange {
    /// The question: a form, so that neither the secret nor the token is in a URL.
    static func question(_ login: LoginQuestion) throws(Failure) -> GraphQuestion {
        var form = Parameters()
        form.add("grant_type", "fb_exchange_token")
        form.add("client_id", login.app.id.text)
        form.add("client_secret", login.app.secret.reveal())
        form.add("fb_exchange_token", login.token)
        let target = Target(login.configuration.basePath, login.settings.graphVersion, "oauth", "access_token")
        do throws(CurlError) {
            let url = try login.configuration.base.withTarget(target.text)
            return GraphQuestion(url: url, bearer: nil, version: login.settings.graphVersion, form: form)
        } catch {
            throw GraphFault(error).failure
        }
    }

    /// The answer: the token.
    ///
    /// - Throws: `GraphFault` for everything else.
    static func answer(_ reply: GraphReply) throws(GraphFault) -> Secret {
        switch try reply.content() {
        case .error(let error):
            throw reply.fault(error, of: .userToken, isGraphToken: true)
        case .object(let object):
            guard let token = object["access_token"]?.string, LoginQuestion.isToken(token) else {
                throw reply.misshapen("an exchange without an access token")
            }
            return Secret(token)
        }
    }
}
