/// A request to a simulated issuer, with what its handlers know.
struct IssuerCall: Sendable {
    let request: GraphRequest
    let issuer: OpenIDIssuer
    let now: Int

    /// The URL at which the issuer is.
    var url: String { "\(request.origin)/\(issuer.server)" }

    /// The issuer's identifier, as the discovery document and the ID tokens name it.
    var identifier: String { issuer.claimedIssuer ?? url }
}
