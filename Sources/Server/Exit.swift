import ArgumentParser
import Domain
import Encodings
import Glibc

/// The exit codes of sysexits.h that the command line uses.
enum Exit {
    static let usage = ExitCode(64)
    static let dataError = ExitCode(65)
    static let noInput = ExitCode(66)
    static let unavailable = ExitCode(69)
    static let software = ExitCode(70)
    static let cannotCreate = ExitCode(73)
    static let inputOutput = ExitCode(74)
    static let configuration = ExitCode(78)

    /// The exit code when two compared things differ, as with diff(1); not an error.
    static let difference = ExitCode(1)

    /// Prints a problem to standard error, and returns the code to throw.
    static func saying(_ text: String, _ code: ExitCode) -> ExitCode {
        Terminal.say(text)
        return code
    }

    /// Prints a problem with a command's arguments, and returns the code to throw.
    static func refusing(_ text: String) -> ExitCode { saying("federation: \(text)", usage) }

    /// Prints all problems of a failure, one a line, and returns the code to throw.
    static func saying(_ failure: Failure) -> ExitCode {
        let problems = failure.details["problems"]?.array?.compactMap(\.object) ?? []
        let lines = problems.map { problem in
            [problem["pointer"]?.string ?? "", problem["message"]?.string ?? ""]
                .filter { !$0.isEmpty }.joined(separator: ": ")
        }
        let text = lines.isEmpty ? "federation: " + failure.message : lines.joined(separator: "\n")
        return saying(text + cause(of: failure), code(of: failure.reason))
    }

    /// Returns the cause of a failure of the database or the service, for the printed message; empty for other
    /// failures.
    ///
    /// The user of the command has to find this cause.
    private static func cause(of failure: Failure) -> String {
        switch failure.reason {
        case .internal, .storeUnavailable: failure.cause.map { " (\($0))" } ?? ""
        default: ""
        }
    }

    /// Returns the exit code of a failure; most failures mean that the input does not fit what exists.
    static func code(of reason: Failure.Reason) -> ExitCode {
        switch reason {
        case .notFound, .unknownApplication, .providerNotConfigured: noInput
        case .storeUnavailable, .overloaded, .providerUnavailable, .providerTimeout, .providerRateLimited,
            .providerBadReply:
            unavailable
        case .providerMisconfigured: configuration
        case .internal: software
        default: dataError
        }
    }

    /// The system's text about the last failed call.
    static var systemError: String { String(cString: strerror(errno)) }
}
