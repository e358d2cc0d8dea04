/// `/oauth/access_token`: app tokens for `client_credentials`.
extension World {
    func issueAppToken(_ request: GraphRequest) throws(GraphError) -> JSON {
        guard let id = request.parameter("client_id"), !id.isEmpty else {
            throw GraphError(code: 101, message: "Missing client_id parameter.")
        }
        guard let app = app(id) else {
            let isNumber = id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            let reason = isNumber ? "Cannot get application info due to a system error." : "Invalid application ID."
            throw GraphError(code: 101, message: "Error validating application. \(reason)")
        }
        guard let secret = request.parameter("client_secret"), secret.utf8.elementsEqual(app.secret.utf8) else {
            throw GraphError(code: 1, message: "Error validating client secret.", status: 400)
        }
        if app.desktop {
            throw GraphError(
                code: 1,
                message: "The request is invalid because the app is configured as a desktop app",
                status: 400
            )
        }
        let grant = request.parameter("grant_type") ?? ""
        guard grant.utf8.elementsEqual("client_credentials".utf8) else {
            throw GraphError(
                code: 100,
                message: "Invalid grant_type: '\(grant)'. Supported types: authorization_code, client_credentials"
            )
        }
        return ["access_token": .string(TokenText.app(app)), "token_type": "bearer"]
    }
}
