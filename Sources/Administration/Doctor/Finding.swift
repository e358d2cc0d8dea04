import Domain
package import Encodings

/// One result of the check of the service: a problem, or a note that all is well.
package struct Finding: Sendable {
    package enum Severity: String, Sendable, CaseIterable {
        /// No problem.
        case ok
        /// A problem that the operator should solve, but that prevents no login.
        case warning
        /// A problem that prevents logins, or may lose data.
        case error
    }

    /// The part of the service or of its environment that a finding is about.
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
    /// The name of the application, table or other object; nil if the service has only one such object.
    package let name: String?
    package let text: String
    /// What the operator should do; nil if there is nothing to do.
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
