import Callbacks
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The page on which a person sees how far the deletion of their data is; it names nobody.
enum DeletionPage {
    static func page(of status: DeletionStatus) -> Response {
        let (application, provider) = (WebPage.escaped(status.application), WebPage.escaped(status.provider))
        let state =
            switch status.state {
            case .done(let moment): "It was deleted on \(day(moment))."
            case .waiting(let moment): "It will be deleted by \(day(moment))."
            case .inProgress:
                """
                The deletion is in progress. It takes longer than usual, because part of the data is still in use at \
                \(application).
                """
            }
        return WebPage.response(
            title: title,
            body: """
                <h1>\(title)</h1>
                <p>On \(day(status.received)) \(provider) told us that you want your data at \(application) to be deleted.</p>
                <p>\(state)</p>
                <p>If you also log in to \(application) in another way, that account stays, without its link to \(provider).</p>
                """,
            script: nil,
            status: .ok
        )
    }

    private static let title = "Deletion of your data"

    static let unknown = WebPage.response(
        title: title,
        body: """
            <h1>\(title)</h1>
            <p>There is no request for deletion with this code. Check that the address is complete, as it was given to you.</p>
            """,
        script: nil,
        status: .notFound
    )

    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// Such as `21 November 2026`, for readers of either kind; the day is that of UTC.
    private static func day(_ milliseconds: Int64) -> String {
        let days = milliseconds >= 0 ? milliseconds / 86_400_000 : (milliseconds - 86_399_999) / 86_400_000
        guard let date = CalendarDate(daysSince1970: Int(days)) else { return "a day" }
        return "<time datetime=\"\(date)\">\(date.day) \(months[date.month - 1]) \(date.year)</time>"
    }
}
