import Upstream
import Vocabulary

/// `oauth/access_token` for a token that is to live longer.
enum LongLivedExchange {
    /// The question: a form, so that the token is not in a URL.
    static func question(_ token: TokenText, by caller: GraphCaller) throws(Failure) -> GraphQuestion {
        try caller.question(.tokenExchange, ofGrant: "fb_exchange_token") { $0.add("fb_exchange_token", token.text) }
    }

    /// The answer: the token.
    ///
    /// - Throws: `ProviderFault` for everything else.
    static func answer(_ reply: GraphReply) throws(ProviderFault) -> Secret {
        switch try reply.content() {
        case .error(let error):
            throw reply.fault(error, of: .userToken, isGraphToken: true)
        case .object(let object):
            guard let token = object["access_token"]?.string, TokenText.isToken(token) else {
                throw reply.misshapen("an exchange without an access token")
            }
            return Secret(token)
        }
    }
}
