package import Vocabulary

/// One thing that somebody who looks after the service should know.
package struct Finding: Sendable {
    package enum Severity: String, Sendable, CaseIterable {
        /// All is well.
        case ok
        /// Should be changed, and keeps nobody from logging in.
        case warning
        /// Keeps somebody from logging in, or may lose data.
        case error
    }

    /// What was looked at.
    package enum Subject: String, Sendable, CaseIterable {
        case configuration
        case database
        case schema
        case rights
        case statistics
        case indexes
        case clock
        case keys
        case application
        case provider
        case mail
    }

    package let severity: Severity
    package let subject: Subject
    /// Of what: an application, a table; nil where there is only one.
    package let name: String?
    package let text: String
    /// What to do; nil where nothing is to be done.
    package let advice: String?

    package init(
        _ severity: Severity,
        _ subject: Subject,
        of name: String? = nil,
        _ text: String,
        advice: String? = nil
    ) {
        self.severity = severity
        self.subject = subject
        self.name = name
        self.text = text
        self.advice = advice
    }

    package var json: JSONValue {
        var object: JSONObject = ["severity": .string(severity.rawValue), "subject": .string(subject.rawValue)]
        if let name { object.append("name", .string(name)) }
        object.append("text", .string(text))
        if let advice { object.append("advice", .string(advice)) }
        return .object(object)
    }
}
