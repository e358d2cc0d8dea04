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

    /// The exit code of a command that compared two things and found a difference.
    ///
    /// As with diff(1), it does not mean an error.
    static let difference = ExitCode(1)

    /// Prints a problem to standard error, and returns the exit code for the caller to throw.
    static func saying(_ text: String, _ code: ExitCode) -> ExitCode {
        Terminal.say(text)
        return code
    }

    /// Prints a problem with a command's arguments, and returns the exit code for the caller to throw.
    static func refusing(_ text: String) -> ExitCode { saying("federation: \(text)", usage) }

    /// Prints all problems of a failure, each on a line, and returns the exit code for the caller to throw.
    static func saying(_ failure: Failure) -> ExitCode {
        let problems = failure.details["problems"]?.array?.compactMap(\.object) ?? []
        let lines = problems.map { problem in
            [problem["pointer"]?.string ?? "", problem["message"]?.string ?? ""]
                .filter { !$0.isEmpty }.joined(separator: ": ")
        }
        let text = lines.isEmpty ? "federation: " + failure.message : lines.joined(separator: "\n")
        return saying(text + cause(of: failure), code(of: failure.reason))
    }

    /// Returns the technical cause of a failure of the database or of the service, for the message that a command
    /// prints.
    ///
    /// It is empty for other failures. The operator who runs the command needs the cause to fix the problem.
    private static func cause(of failure: Failure) -> String {
        switch failure.reason {
        case .internal, .storeUnavailable: failure.cause.map { " (\($0))" } ?? ""
        default: ""
        }
    }

    /// Returns the exit code for a failure.
    ///
    /// The default is `dataError`: the command's input does not fit the existing data.
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

    /// The operating system's error message for the last system call that failed (`errno`).
    static var systemError: String { String(cString: strerror(errno)) }
}
