import ArgumentParser
import Glibc
import Vocabulary

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

    /// What two things that were compared being different ends with, as with diff(1); not an error.
    static let difference = ExitCode(1)

    /// Says on standard error what is wrong, and gives the code to throw.
    static func saying(_ text: String, _ code: ExitCode) -> ExitCode {
        Terminal.say(text)
        return code
    }

    /// Says what is wrong with how a command was called.
    static func refusing(_ text: String) -> ExitCode { saying("federation: \(text)", usage) }

    /// Says a failure of a use case with all its problems, one a line.
    static func saying(_ failure: Failure) -> ExitCode {
        let problems = failure.details["problems"]?.array?.compactMap(\.object) ?? []
        let lines = problems.map { problem in
            [problem["pointer"]?.string ?? "", problem["message"]?.string ?? ""]
                .filter { !$0.isEmpty }.joined(separator: ": ")
        }
        let text = lines.isEmpty ? "federation: " + failure.message : lines.joined(separator: "\n")
        return saying(text + cause(of: failure), code(of: failure.reason))
    }

    /// Who runs the command is who has to find out why the database is not reachable or the service broke.
    private static func cause(of failure: Failure) -> String {
        switch failure.reason {
        case .internal, .storeUnavailable: failure.cause.map { " (\($0))" } ?? ""
        default: ""
        }
    }

    /// The code for a failure: most of them say that what was asked for does not fit what there is.
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

    /// What the system says about the last call that failed.
    static var systemError: String { String(cString: strerror(errno)) }
}
