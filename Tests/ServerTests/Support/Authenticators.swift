import Crypto
import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// An authenticator app, with an independent implementation of RFC 6238.
struct AuthenticatorApp: Sendable {
    let id: String
    let seed: [UInt8]

    /// Makes an app from the `otpauth` address in a response.
    init(_ begun: JSONObject) throws {
        id = try #require(begun["id"]?.string)
        let address = try #require(begun["otpauth"]?.string)
        let secret = try #require(address.split(separator: "secret=").last?.prefix { $0 != "&" })
        var (bits, count): (UInt64, Int) = (0, 0)
        var seed: [UInt8] = []
        for character in secret {
            let value = try #require("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".firstIndex(of: character))
            bits = bits << 5 | UInt64("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".distance(from: "A".startIndex, to: value))
            count += 5
            if count >= 8 {
                count -= 8
                seed.append(UInt8(truncatingIfNeeded: bits >> UInt64(count)))
            }
        }
        self.seed = seed
    }

    /// Returns the code that many time steps from now.
    func code(_ offset: Int64 = 0) -> String {
        let step = UInt64(Int64(Date().timeIntervalSince1970) / 30 + offset)
        let counter = withUnsafeBytes(of: step.bigEndian) { Array($0) }
        let hash = Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: seed)))
        let place = Int(hash[19] & 15)
        let number = hash[place..<place + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// A code that is not valid now.
    var wrongCode: String {
        let right = (-2...2).map { code(Int64($0)) }
        return ["000000", "111111", "222222", "333333", "444444", "555555"].first { !right.contains($0) } ?? "666666"
    }
}

/// A pending login as its client holds it.
struct PutOff: Sendable {
    let pending: String
    let factors: [JSONObject]

    func id(of kind: String) -> String? {
        factors.first { $0["kind"]?.string == kind }?["id"]?.string
    }
}

extension Deployment {
    /// Enrols an authenticator app for the user of a session and requires success.
    ///
    /// - Returns: The app, the id of its factor, and the recovery codes if there are any.
    func enrolApp(
        of session: LoginResult,
        in document: Document? = nil
    ) async throws -> (app: AuthenticatorApp, id: String, recoveryCodes: [String]) {
        let begun = try await send("POST", "users/factors", #"{"kind": "totp"}"#, token: session.token, to: document)
        try #require(begun.status == 200, "\(begun.text)")
        let app = try AuthenticatorApp(try #require(JSON.object(begun.text)))
        let confirmed = try await send(
            "POST",
            "users/factors/\(app.id)/confirm",
            #"{"code": "\#(app.code())"}"#,
            token: session.token,
            to: document
        )
        try #require(confirmed.status == 200, "\(confirmed.text)")
        let factor = try #require(JSON.object(confirmed.text))
        let codes = factor["recoveryCodes"]?.array?.compactMap(\.string) ?? []
        return (app, try #require(factor["id"]?.string), codes)
    }

    /// Requires that a response is a pending login.
    func putOff(_ reply: HTTPReply, _ reason: String = "second_factor_required") throws -> PutOff {
        let data = try expectProblem(reply, reason)
        #expect(data.keys == ["reason", "requestId", "pending", "factors", "expires"])
        return PutOff(
            pending: try #require(data["pending"]?.string),
            factors: data["factors"]?.array?.compactMap(\.object) ?? []
        )
    }

    /// Shows a code for a pending login.
    func finish(
        _ putOff: PutOff,
        _ kind: String = "totp",
        code: String,
        more: String = "",
        to document: Document? = nil,
        token: String? = nil,
        headers: [(String, String)] = [],
        at instance: ServiceProcess? = nil
    ) async throws -> HTTPReply {
        let id = putOff.id(of: kind).map { #", "factorId": "\#($0)""# } ?? ""
        let body = #"{"pending": "\#(putOff.pending)"\#(id), "code": "\#(code)"\#(more)}"#
        var headers = headers + [("Content-Type", "application/json")]
        if let token { headers.append(("user-token", token)) }
        return try await (instance?.client ?? client).send(
            "POST",
            path("users/secondFactor/finish", of: document),
            headers: headers,
            body: Array(body.utf8)
        )
    }

    /// Makes used codes valid again, as if enough time had passed.
    func forgetSteps(in document: Document? = nil) async throws {
        try await database.psql("update \((document ?? documents[0]).application).factors set step = -1")
    }
}
