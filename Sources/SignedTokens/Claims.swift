import Encodings

extension JSONObject {
    /// Returns whether the claim `iss` is an accepted value.
    ///
    /// In the value, `{tenantid}` stands for the claim `tid`, as in Microsoft's discovery document.
    func isIssued(by accepted: String) -> Bool {
        guard let issuer = self["iss"]?.string else { return false }
        let place = "{tenantid}"
        guard accepted.contains(place) else { return accepted.hasSameBytes(as: issuer) }
        guard let tenant = self["tid"]?.string, (1...64).contains(tenant.utf8.count),
            tenant.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") })
        else { return false }
        return accepted.replacing(place, with: tenant).hasSameBytes(as: issuer)
    }

    /// Returns a claim that is a whole number of Unix seconds; nil if it is none.
    ///
    /// It must be in the years 1970 to 9999, so that sums cannot overflow.
    func time(_ name: String) -> Int64? {
        self[name]?.integer.flatMap { (0...253_402_300_799).contains($0) ? $0 : nil }
    }

    /// Whether the claims are those of an access token or a refresh token.
    ///
    /// A signed access token names its client (RFC 9068 §2.2), and may have the same issuer, audience and key as an ID
    /// token. Some servers have a claim for the kind: Keycloak `typ`, Cognito `token_use`, idpyoidc `token_class`.
    var isOfAccessToken: Bool {
        let kinds = ["typ", "token_use", "token_class"].compactMap { self[$0]?.string }
        return self["client_id"] != nil
            || !kinds.allSatisfy { kind in
                ["id", "ID", "id_token", "jwt", "JWT"].contains { $0.hasSameBytes(as: kind) }
            }
    }

    /// The audiences: the claim `aud`, which is a text or a list of texts.
    var audiences: [String] {
        switch self["aud"] {
        case .string(let name): [name]
        case .array(let names): names.compactMap(\.string)
        default: []
        }
    }
}
