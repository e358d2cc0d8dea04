import Applications
import Domain
import Encodings
import HTTP
import Hummingbird
import Pages
import PublicAPI

/// The page to which mailed links in Firebase's form lead: it sends the browser on.
///
/// A login continues in the app. For any other purpose, a page of this service asks the user first, since programs that
/// scan mails follow links.
struct ActionPage {
    let directory: ApplicationDirectory
    let refusals: RefusalLog
    let errors: any ErrorTable

    func mount(on router: Router<APIContext>) {
        router.get(RouterPath(ActionLink.path)) { request, context in
            var facts = RefusalLog.Facts()
            var page = WebPage(of: nil, for: request.headers)
            do throws(Failure) {
                let query = try FormFields(request.uri.query ?? "")
                guard let key = try query.value(ActionLink.key),
                    let mode = try query.value(ActionLink.mode).flatMap(ActionLink.Mode.init(rawValue:)),
                    let code = try query.value(ActionLink.code)
                else { throw Self.incomplete }
                let named = try? directory.application(key: key[...]).application
                let loaded = if let named { named } else { try directory.application(id: key[...]) }
                let application = loaded.application
                facts.application = application.id
                page = WebPage(of: application, for: request.headers)
                let next = try query.value(ActionLink.next).flatMap { ContinueURL($0, in: application.settings) }
                guard let purpose = mode.purpose else {
                    guard let next else { throw Self.incomplete }
                    return Response.seeOther(Self.adding(request.uri.query ?? "", to: next.text))
                }
                var parameters = [(name: "token", value: code)]
                if let next { parameters.append(("continue", next.text)) }
                return Response.seeOther("/\(application.id)/\(purpose.page)?\(PercentEncoding.query(parameters))")
            } catch {
                return page.failure(refusals.logged(error, facts, in: context), .failed, by: errors)
            }
        }
    }

    private static let incomplete = Failure(
        .linkInvalid,
        "This link is not complete. Open it from the mail once more, or request another mail."
    )

    /// Returns a URL with further parameters: the app's SDK reads the code from the URL.
    private static func adding(_ query: String, to url: String) -> String {
        let parts = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let fragment = parts.count > 1 ? "#\(parts[1])" : ""
        return "\(parts[0])\(parts[0].contains("?") ? "&" : "?")\(query)\(fragment)"
    }
}
