/// The parameters of a dialog that RFC 6749 §4.1.1 and RFC 7636 §4.3 define.
struct DialogParameters: Sendable {
    let client: String
    let redirectURI: String
    let state: String?
    let scopes: [String]
    let challenge: String?

    /// Reads the parameters of a request for one of the given clients.
    ///
    /// A challenge counts only with the method `S256`. The scopes may be separated by spaces or commas.
    ///
    /// - Throws: An error for the user alone: without a valid client and redirect URI there is no way back.
    init(_ request: GraphRequest, clients: [String: String], responseType: String? = "code") throws(OAuthError) {
        guard let client = request.parameter("client_id"), clients[client] != nil else {
            throw .invalidRequest("client_id is missing or unknown")
        }
        guard let redirectURI = request.parameter("redirect_uri"), !redirectURI.isEmpty else {
            throw .invalidRequest("redirect_uri is missing")
        }
        if let responseType, request.parameter("response_type") != responseType {
            throw .invalidRequest("response_type is not \(responseType)")
        }
        challenge = request.parameter("code_challenge")
        guard challenge == nil || request.parameter("code_challenge_method") == "S256" else {
            throw .invalidRequest("code_challenge_method is not S256")
        }
        self.client = client
        self.redirectURI = redirectURI
        state = request.parameter("state")
        scopes = (request.parameter("scope") ?? "").split { $0 == " " || $0 == "," }.map(String.init)
    }

    /// Redirects to the client with the given parameters in the query, before which the request's `state` stands.
    func callback(_ parameters: [(name: String, value: String)]) -> GraphReply {
        let separator = redirectURI.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return .redirect(to: redirectURI + separator + FormEncoding.encode(answer(parameters)))
    }

    /// The request's `state`, if there is one, and the given parameters.
    func answer(_ parameters: [(name: String, value: String)]) -> [(name: String, value: String)] {
        (state.map { [(name: "state", value: $0)] } ?? []) + parameters
    }
}
