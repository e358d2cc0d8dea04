package import Domain
import Encodings

/// The texts of an application's pages, in one language.
package struct PageWords: Sendable {
    package let language: PageLanguage
    private let application: HTML
    private let table: PageTable

    package init(in language: PageLanguage, of application: String = "") {
        self.language = language
        self.application = "\(application)"
        table = .texts(in: language)
    }

    /// Returns a text with the given values filled in.
    package func callAsFunction(_ text: PageText, _ values: [PageText.Name: HTML] = [:]) -> HTML {
        let said = table.text(text.rawValue) { $0 == .application ? application : values[$0] }
        guard let said else { preconditionFailure("There is no text \(text) in \(language).") }
        return said
    }

    /// Returns the message about a failure in the language of the page.
    ///
    /// The message is English if the language has no text for the failure.
    package func failure(_ failure: Failure) -> HTML {
        let key = "failure.\(failure.reason.rawValue)"
        let rule = failure.details["rule"]?.string ?? ""
        let own = [key, "\(key).\(rule)"].lazy.compactMap { table.text($0) { _ in nil } }.first
        return own ?? (language == .english ? "\(failure.message)" : "<span lang=\"en\">\(failure.message)</span>")
    }

    /// Returns the day of a time as a text in the page's language.
    ///
    /// The day is in UTC. `milliseconds` counts since 1970.
    package func day(_ milliseconds: Int64) -> HTML {
        let days = milliseconds >= 0 ? milliseconds / 86_400_000 : (milliseconds - 86_399_999) / 86_400_000
        guard let date = CalendarDate(daysSince1970: Int(days)) else { return self(.someDay) }
        return "<time datetime=\"\(date.description)\">\(written(date))</time>"
    }

    /// Returns the day, hour and minute of a time as a text in the page's language.
    ///
    /// All three are in UTC. `milliseconds` counts since 1970.
    package func moment(_ milliseconds: Int64) -> HTML {
        let (days, rest) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        guard milliseconds >= 0, let date = CalendarDate(daysSince1970: Int(days)) else { return self(.someDay) }
        let parts = [rest / 3_600_000, rest / 60_000 % 60].map { ($0 < 10 ? "0" : "") + String($0) }
        let time = parts.joined(separator: ":")
        return "<time datetime=\"\(date.description)T\(time)Z\">\(written(date)), \(time) UTC</time>"
    }

    private func written(_ date: CalendarDate) -> HTML {
        let months = self(.months).text.split(separator: " ")
        return self(.date, [.day: "\(date.day)", .month: "\(String(months[date.month - 1]))", .year: "\(date.year)"])
    }
}
