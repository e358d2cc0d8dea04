package import Accounts
package import Hummingbird

/// The page that shows whether a user's data have been deleted, after a provider has requested the deletion.
///
/// The page does not name the user.
package struct DeletionPage {
    private let page: WebPage

    package init(_ page: WebPage) { self.page = page }

    package func response(to status: DeletionStatus?) -> Response {
        guard let status else { return unknown() }
        let words = PageWords(in: page.words.language, of: status.application)
        let state =
            switch status.state {
            case .done(let moment): words(.deletionDone, [.moment: words.day(moment)])
            case .waiting(let moment): words(.deletionDue, [.moment: words.day(moment)])
            case .inProgress: words(.deletionInProgress)
            }
        let provider: HTML = "\(status.provider)"
        return page.response(
            .deletion,
            """
            <p>\(words(.deletionRequested, [.moment: words.day(status.received), .provider: provider]))</p>
            <p>\(state)</p>
            <p>\(words(.otherLoginsStay, [.provider: provider]))</p>
            """
        )
    }

    /// Returns the page for a confirmation code that belongs to no deletion request.
    package func unknown() -> Response {
        page.response(.deletion, "<p>\(page.words(.deletionUnknown))</p>", status: .notFound)
    }
}
