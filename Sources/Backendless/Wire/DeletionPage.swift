import Callbacks
import HTTP
import Hummingbird
import Vocabulary

/// The page on which a person sees how far the deletion of their data is; it names nobody.
struct DeletionPage {
    private let page: WebPage

    init(_ page: WebPage) { self.page = page }

    private var language: PageLanguage { page.language }

    func response(to status: DeletionStatus?) -> Response {
        guard let status else { return unknown() }
        let (application, provider) = (status.application, status.provider)
        let state: PageText =
            switch status.state {
            case .done(let moment): .deletionDone(day: language.day(moment))
            case .waiting(let moment): .deletionDue(day: language.day(moment))
            case .inProgress: .deletionInProgress(application: application)
            }
        let day = language.day(status.received)
        return page.response(
            .deletion,
            """
            <p>\(language(.deletionRequested(day: day, provider: provider, application: application)))</p>
            <p>\(language(state))</p>
            <p>\(language(.otherLoginsStay(provider: provider, application: application)))</p>
            """
        )
    }

    /// There is no request with that code.
    func unknown() -> Response {
        page.response(.deletion, "<p>\(language(.deletionUnknown))</p>", status: .notFound)
    }
}
