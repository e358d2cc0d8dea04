import Domain
import Encodings
import Providers

/// The request to `oauth/access_token` that exchanges a token for a long-lived one.
enum LongLivedExchange {
    /// Returns the request that exchanges a token for a long-lived token.
    ///
    /// The body contains the token, so that no URL does.
    static func question(_ token: TokenText, by caller: GraphCaller) throws(Failure) -> GraphQuestion {
        try caller.question(.tokenExchange, ofGrant: "fb_exchange_token") { $0.add("fb_exchange_token", token.text) }
    }

    /// Reads the long-lived token in the response.
    ///
    /// - Throws: `ProviderFault` for every other response.
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
