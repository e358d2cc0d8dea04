import Domain
import Encodings
import Providers

/// The user's name that Apple sends beside the code of the very first login, and never again (docs/protocols/openid.md
/// §6).
///
/// The form passes through the user's browser, so its e-mail address counts for nothing: the ID token has it.
enum FirstUser {
    /// Returns the claims that the form adds to those of the ID token; none if the redirect has no name.
    static func claims(in answer: DialogAnswer?) -> JSONObject { claims(in: answer?.filled("user")) }

    /// Returns the claims of a text such as `{"name": {"firstName": "Ann", "lastName": "Lee"}}`.
    static func claims(in text: String?) -> JSONObject {
        guard let text, let form = (try? JSONParser.parse(text, limits: .request))?.object,
            let name = form["name"]?.object
        else { return [:] }
        let parts = [("given_name", name["firstName"]?.string), ("family_name", name["lastName"]?.string)]
        let given = parts.compactMap { claim, text in
            text.flatMap { $0.utf8.isEmpty ? nil : JSONObject.Member(claim, .string($0)) }
        }
        guard !given.isEmpty else { return [:] }
        let whole = given.compactMap(\.value.string).joined(separator: " ")
        return JSONObject(given + [JSONObject.Member("name", .string(whole))])
    }
}
