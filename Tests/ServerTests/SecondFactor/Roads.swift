import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The ways to log in.
enum Road: String, CaseIterable, CustomTestStringConvertible {
    case password, accessToken, idToken, code, guest, guestLinks, pathOfEveryProvider, simpleRegister, twitter
    case popup, redirect

    /// The origin of the page that opens popups.
    static let origin = "https://page.example.com"

    var testDescription: String { rawValue }

    /// Whether the user can exist before the login.
    var isPassword: Bool { self == .password }
    var isFacebook: Bool { self != .password && self != .twitter }
    var isGuest: Bool { self == .guest || self == .guestLinks }
    /// Whether the service itself asks for the second factor, on a page in the browser.
    var isDialog: Bool { self == .popup || self == .redirect }
    /// The way of the user's next login: an identity is linked only once.
    var back: Road { self == .guestLinks ? .accessToken : self }
}

/// A user with the credentials for every way to log in.
struct Traveller: Sendable {
    static let name = "Traveller Canary"

    let visitor: Visitor
    let bird: TwitterVisitor
    let email: String

    /// The values that only this user has.
    var words: [String] { [email, visitor.id, bird.id] }
}

/// A pending login: as held by its client, or as the page in the browser of a dialog.
enum Waiting: Sendable {
    case client(PutOff)
    case page(FormPage)

    /// The ids of the factors that can be shown.
    var factors: [String] {
        switch self {
        case .client(let putOff): putOff.factors.compactMap { $0["id"]?.string }
        case .page(let page): [page.field("factor"), page.field("choose")].compactMap(\.self)
        }
    }
}

extension Deployment {
    func traveller() async throws -> Traveller {
        let email = "t\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        return Traveller(
            visitor: try await newcomer(#"{"email": "\#(email)", "first_name": "\#(Traveller.name)"}"#),
            bird: try await tweeter(#"{"email": "\#(email)", "name": "\#(Traveller.name)"}"#),
            email: email
        )
    }

    /// Logs in up to the second factor.
    ///
    /// - Returns: The response of the login; for a dialog, the response to the browser that returns from the provider.
    func travel(
        _ road: Road,
        _ traveller: Traveller,
        to document: Document,
        at instance: ServiceProcess? = nil
    ) async throws -> HTTPReply {
        let client = instance?.client ?? client
        func post(_ endpoint: String, _ body: String, token: String? = nil) async throws -> HTTPReply {
            try await client.post(
                path(endpoint, of: document),
                json: body,
                headers: token.map { [("user-token", $0)] } ?? []
            )
        }
        func guest() async throws -> (id: String, token: String) {
            let guest = try await post("users/register/guest", "{}")
            let object = try #require(JSON.object(guest.text), "\(guest.text)")
            return (object["objectId"]?.string ?? "", object["user-token"]?.string ?? "")
        }
        let token = #""accessToken": "\#(traveller.visitor.token)""#
        switch road {
        case .password:
            return try await post(
                "users/login",
                #"{"login": "\#(traveller.email)", "password": "\#(Deployment.password)"}"#
            )
        case .accessToken: return try await post("users/loginWithFacebook", "{\(token)}")
        case .pathOfEveryProvider: return try await post("users/social/facebook/login", "{\(token)}")
        case .twitter: return try await post("users/social/twitter/login", "{\(traveller.bird.credential)}")
        case .idToken:
            let idToken = try await idToken(of: traveller.visitor)
            return try await post("users/loginWithFacebook", #"{"idToken": "\#(idToken)"}"#)
        case .code:
            let redirect = "https://app.example.com/cb"
            let code = try await code(of: traveller.visitor, redirectURI: redirect)
            return try await post(
                "users/loginWithFacebook",
                #"{"code": "\#(code)", "redirectUri": "\#(redirect)"}"#
            )
        case .guest:
            let guest = try await guest()
            return try await post(
                "users/loginWithFacebook",
                #"{\#(token), "guestUser": {"objectId": "\#(guest.id)", "user-token": "\#(guest.token)"}}"#
            )
        case .guestLinks: return try await post("users/identities/facebook", "{\(token)}", token: guest().token)
        case .simpleRegister:
            return try await post(
                "register",
                #"{"access_type": "1", "passkey": "x", "passcode": "\#(traveller.visitor.token)"}"#
            )
        case .popup, .redirect:
            let headers = road == .popup ? [("Origin", Road.origin)] : []
            let dialog = try await dialog(headers: headers, of: document)
            return try await comeBack(to: try await answer(dialog, as: traveller.visitor), at: client)
        }
    }

    /// Requires that a response is a pending login.
    func waiting(
        _ reply: HTTPReply,
        on road: Road,
        _ reason: String = "second_factor_required"
    ) throws -> Waiting {
        guard road.isDialog else { return .client(try putOff(reply, reason)) }
        expectPage(reply, status: 200, keepsCookie: true)
        return .page(FormPage(reply: reply))
    }

    /// Shows a code for a pending login.
    ///
    /// The code is that of an authenticator app, or a recovery code, which the page offers as the alternative.
    func show(
        _ code: String,
        of factor: String = "totp",
        for waiting: Waiting,
        in document: Document,
        at instance: ServiceProcess? = nil
    ) async throws -> HTTPReply {
        switch waiting {
        case .client(let putOff):
            return try await finish(putOff, factor, code: code, to: document, at: instance)
        case .page(var page):
            if factor == "recoveryCode" {
                let other = [("choose", try #require(page.field("choose")))]
                page = FormPage(reply: try await answerFactor(page, other, of: document, at: instance))
            }
            let answer = [("factor", try #require(page.field("factor"))), ("code", code)]
            return try await answerFactor(page, answer, of: document, at: instance)
        }
    }

    /// Finishes a login.
    ///
    /// - Returns: The user with a session; `nil` if the login failed.
    func arrival(
        of reply: HTTPReply,
        on road: Road,
        in document: Document,
        at instance: ServiceProcess? = nil
    ) async throws -> LoginResult? {
        switch road {
        case .popup:
            guard reply.text.contains(#"id="message""#) else { return nil }
            let user = try handedOver(reply).message
            return user["user-token"] == nil ? nil : LoginResult(user: user, reply: reply)
        case .redirect:
            guard let location = reply.header("Location"), let code = try Address(location)["loginCode"] else {
                return nil
            }
            let redeemed = try await redeem(code, of: document, at: instance?.client)
            return redeemed.status == 200 ? try signedIn(redeemed) : nil
        default:
            // The status is 201 for a user created by `register`.
            let user = [200, 201].contains(reply.status) ? JSON.object(reply.text) : nil
            return user.map { LoginResult(user: $0, reply: reply) }
        }
    }

    /// Expects that the shown factor opens no session.
    func expectRefusal(
        _ reply: HTTPReply,
        on road: Road,
        _ reasons: String...,
        in document: Document,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        if road.isDialog {
            let arrival = try await arrival(of: reply, on: road, in: document)
            #expect(arrival == nil, sourceLocation: sourceLocation)
            #expect(!reply.text.contains("user-token"), sourceLocation: sourceLocation)
        } else {
            try expectProblem(reply, oneOf: reasons, sourceLocation: sourceLocation)
        }
    }
}
